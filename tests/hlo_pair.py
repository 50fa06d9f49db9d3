"""Two optimised programs as XLA writes them for a CPU, made up: the second has another shape for its fusion."""

SMALL = """\
HloModule jit_function, is_scheduled=true

%fused_computation (param_0: f32[4], param_1: f32[4]) -> f32[4] {
  %param_0 = f32[4]{0} parameter(0)
  %param_1 = f32[4]{0} parameter(1)
  %add.2 = f32[4]{0} add(%param_0, %param_1), metadata={source_file="-" source_line=3 source_column=1}
  ROOT %tanh.1 = f32[4]{0} tanh(%add.2), metadata={op_name="t" source_file="/x/ffn/in_jax.py" source_line=7}
}

%parallel_fusion (p: f32[4], p.1: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %p.1 = f32[4]{0} parameter(1)
  ROOT %add_tanh_fusion = f32[4]{0} fusion(%p, %p.1), kind=kLoop, calls=%fused_computation
}

%region_0 (Arg_0: f32[], Arg_1: f32[]) -> f32[] {
  %Arg_0 = f32[] parameter(0)
  %Arg_1 = f32[] parameter(1)
  ROOT %maximum.1 = f32[] maximum(%Arg_0, %Arg_1)
}

ENTRY %main.9 (Arg_0.1: f32[2,2], Arg_1.2: f32[4]) -> f32[] {
  %Arg_0.1 = f32[2,2]{1,0} parameter(0)
  %Arg_1.2 = f32[4]{0} parameter(1)
  %constant.1 = f32[] constant(-inf)
  %dot = f32[2,2]{1,0} dot(%Arg_0.1, %Arg_0.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %bitcast = f32[4]{0} bitcast(%dot)
  %call = f32[4]{0} call(%bitcast, %Arg_1.2), to_apply=%parallel_fusion
  ROOT %reduce.1 = f32[] reduce(%call, %constant.1), dimensions={0}, to_apply=%region_0
}
"""
OTHER = SMALL.replace("f32[4]{0}", "f32[2,2]{1,0}").replace("f32[4]", "f32[2,2]").replace("%dot", "%dot.8")
