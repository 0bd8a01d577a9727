// PASSES: pure
// The sum is a statement of its own, in the loops of the one that it was in.

// CHECK: func.func @f(%A: {{.*}}, %x: {{.*}}) -> tensor<?xf32> attributes {inputs = ["A", "x"]}
// CHECK: %y_sum = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%A, %x :
// CHECK-SAME: statement = "y_sum", indices = ["i", "k"], order = ["k", "i"]}
// CHECK: %y = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%y_sum :
// CHECK-SAME: statement = "y", indices = ["i"], order = ["i"]}
// CHECK: arith.maximumf
// CHECK: func.return %y

builtin.module {
  func.func @f(%A: tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, %x: tensor<?xf32>) -> tensor<?xf32> attributes {inputs = ["A", "x"]} {
    %0 = arith.constant 0 : index
    %1 = tensor.dim %A, %0 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %2 = tensor.empty(%1) : tensor<?xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%A, %x : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, tensor<?xf32>) outs(%4 : tensor<?xf32>) attrs =  {statement = "y", indices = ["i", "k"]} {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<?xf32>
    %11 = tensor.dim %5, %0 : tensor<?xf32>
    %12 = tensor.empty(%11) : tensor<?xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5 : tensor<?xf32>) outs(%12 : tensor<?xf32>) attrs =  {statement = "y", indices = ["i"], order = ["k", "i"]} {
    ^bb0(%13: f32, %14: f32):
      %15 = arith.constant 0.000000e+00 : f32
      %16 = arith.maximumf %13, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<?xf32>
    func.return %y : tensor<?xf32>
  }
}
