"""Programs with faults: those of two public reports, and one that does not end."""

SHIFT = """
func.func @main(%x: tensor<{n}x1xf32>) -> tensor<1x{n}x1xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<{n}x1xf32>
  %base = stablehlo.add %x, %one : tensor<{n}x1xf32>
  %head = stablehlo.slice %base [0:{m}, 0:1] : (tensor<{n}x1xf32>) -> tensor<{m}x1xf32>
  %place = stablehlo.constant dense<1> : tensor<1xi32>
  %moved = "stablehlo.scatter"(%base, %place, %head) <{{indices_are_sorted = true,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>,
      unique_indices = true}}> ({{
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
  }}) : (tensor<{n}x1xf32>, tensor<1xi32>, tensor<{m}x1xf32>) -> tensor<{n}x1xf32>
  %result = stablehlo.reshape %moved : (tensor<{n}x1xf32>) -> tensor<1x{n}x1xf32>
  return %result : tensor<1x{n}x1xf32>
}}
"""
"""openxla/xla issue 49176: rows are shifted in place."""
PRODUCTS = """
func.func @main(%u: tensor<2x1x2x2x8x8x8xf32>, %v: tensor<2x1x2x2x8x8x8xf32>) -> tensor<2x1x2x8x8x8xf32> {
  %w = stablehlo.negate %v : tensor<2x1x2x2x8x8x8xf32>
  %p = stablehlo.multiply %u, %w : tensor<2x1x2x2x8x8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<2x1x2x2x8x8x8xf32>, tensor<f32>) -> tensor<2x1x2x8x8x8xf32>
  return %s : tensor<2x1x2x8x8x8xf32>
}
"""
"""jax-ml/jax issue 40412: a sum over an axis of an array of rank 7 ends the process."""
FOREVER = """
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %x) : tensor<i32>
    cond { %t = stablehlo.compare EQ, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %t : tensor<i1> }
    do { %j = stablehlo.add %i, %i : tensor<i32>
         stablehlo.return %j : tensor<i32> }
  return %0 : tensor<i32>
}
"""
"""A loop that does not end."""
