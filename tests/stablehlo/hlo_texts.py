"""HLO texts in the form of XLA's dumps for the TPU, small enough to count by hand."""

LOOP = """\
HloModule loop, is_scheduled=true, entry_computation_layout={(f32[8,16]{1,0:T(8,128)})->f32[8,16]{1,0}}

%fused (param_0: f32[8,16], param_1: f32[16,16]) -> f32[8,16] {
  %param_0 = f32[8,16]{1,0:T(8,128)S(1)} parameter(0)
  %param_1 = f32[16,16]{1,0:T(8,128)S(1)} parameter(1)
  %convolution.3 = f32[8,16]{1,0:T(8,128)} convolution(%param_0, %param_1), dim_labels=bf_io->bf, \
operand_precision={highest,highest}
  ROOT %tanh.2 = f32[8,16]{1,0:T(8,128)S(1)} tanh(%convolution.3), metadata={op_name="a(b" source_line=12}
}

%body (state: (s32[], f32[8,16], f32[16,16], s32[])) -> (s32[], f32[8,16], f32[16,16], s32[]) {
  %state = (s32[]{:T(128)}, f32[8,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)S(1)}, s32[]) parameter(0)
  %step = s32[]{:T(128)} get-tuple-element(%state), index=3
  %i = s32[]{:T(128)} get-tuple-element(%state), index=0
  %add.1 = s32[]{:T(128)} add(%i, %step)
  %x = f32[8,16]{1,0:T(8,128)S(1)} get-tuple-element(%state), index=1
  %w = f32[16,16]{1,0:T(8,128)S(1)} get-tuple-element(%state), index=2
  %copy.11 = f32[8,16]{1,0:T(8,128)S(1)} copy(%x), \
backend_config={"window_config":{"estimated_cycles":"272","iteration_bounds":["1","1"]}}
  %product = f32[8,16]{1,0:T(8,128)S(1)} fusion(%copy.11, %w), kind=kOutput, calls=%fused, \
backend_config={"window_config":{"estimated_cycles":"1000"}}
  ROOT %next = (s32[]{:T(128)}, f32[8,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)S(1)}, s32[]) \
tuple(%add.1, %product, %w, /*index=3*/%step)
}

%condition (state.1: (s32[], f32[8,16], f32[16,16], s32[])) -> pred[] {
  %limit = s32[]{:T(128)} constant(19)
  %state.1 = (s32[]{:T(128)}, f32[8,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)S(1)}, s32[]) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%state.1), index=0
  ROOT %compare.0 = pred[]{:T(512)} compare(%i.1, %limit), direction=LT
}

ENTRY %main.3 (Arg_0.1: f32[8,16], Arg_1.1: f32[16,16]) -> f32[8,16] {
  %zero = s32[]{:T(128)} constant(0)
  %two = s32[]{:T(128)} constant(2)
  %Arg_0.1 = f32[8,16]{1,0:T(8,128)} parameter(0)
  %Arg_1.1 = f32[16,16]{1,0:T(8,128)} parameter(1)
  %copy-start.1 = (f32[16,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)}, u32[]{:S(2)}) \
copy-start(%Arg_1.1), cross_program_prefetch_index=0
  %copy-done.1 = f32[16,16]{1,0:T(8,128)S(1)} copy-done(%copy-start.1)
  %copy.10 = s32[]{:T(128)} copy(%zero)
  %transposed = f32[8,16]{1,0:T(8,128)S(1)} transpose(%Arg_0.1), dimensions={0,1}, \
backend_config={"window_config":{"estimated_cycles":"50"}}
  %tuple.15 = (s32[]{:T(128)}, f32[8,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)S(1)}, s32[]) \
tuple(%copy.10, %transposed, %copy-done.1, %two)
  %while = (s32[]{:T(128)}, f32[8,16]{1,0:T(8,128)S(1)}, f32[16,16]{1,0:T(8,128)S(1)}, s32[]) \
while(%tuple.15), condition=%condition, body=%body
  ROOT %result = f32[8,16]{1,0:T(8,128)S(1)} get-tuple-element(%while), index=1
}
"""
KNOWN = LOOP.replace("body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"7"}}')


def entry(*lines: str) -> str:
    """A module of one computation."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule one\n\nENTRY %main (x: f32[1]) -> f32[1] {{\n{body}\n}}\n"
