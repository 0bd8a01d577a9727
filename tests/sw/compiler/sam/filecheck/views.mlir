// PASSES: views
// What is taken at two sets of indices is computed for each; what no result needs goes.

// CHECK-NOT: math.exp
// CHECK: %t = linalg.generic {{.*}}statement = "t", indices = ["i", "j", "k"]}
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}}statement = "t_2", indices = ["j", "i", "u0"]}
// CHECK: %y = linalg.generic {{.*}} ins(%t, %[[COPY]] :
// CHECK-SAME: statement = "y", indices = ["i", "j"]}
// CHECK: arith.subf
// CHECK-NOT: math.exp

builtin.module {
  func.func @f(%A: tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, %B: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?x?xf32> attributes {inputs = ["A", "B", "b"]} {
    %0 = arith.constant 1 : index
    %1 = arith.constant 0 : index
    %2 = tensor.dim %A, %1 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %3 = tensor.dim %B, %0 : tensor<?x?xf32>
    %4 = tensor.empty(%2, %3) : tensor<?x?xf32>
    %5 = arith.constant 0.000000e+00 : f32
    %6 = linalg.fill ins(%5 : f32) outs(%4 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%A, %B : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, tensor<?x?xf32>) outs(%6 : tensor<?x?xf32>) attrs =  {statement = "t", indices = ["i", "j", "k"]} {
    ^bb0(%7: f32, %8: f32, %9: f32):
      %10 = arith.mulf %7, %8 : f32
      %11 = arith.addf %9, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<?x?xf32>
    %12 = tensor.dim %t, %1 : tensor<?x?xf32>
    %13 = tensor.dim %t, %0 : tensor<?x?xf32>
    %14 = tensor.empty(%12, %13) : tensor<?x?xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t, %t : tensor<?x?xf32>, tensor<?x?xf32>) outs(%14 : tensor<?x?xf32>) attrs =  {statement = "y", indices = ["i", "j"]} {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.subf %15, %16 : f32
      linalg.yield %18 : f32
    } -> tensor<?x?xf32>
    %19 = tensor.dim %b, %1 : tensor<?xf32>
    %20 = tensor.empty(%19) : tensor<?xf32>
    %z = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%b : tensor<?xf32>) outs(%20 : tensor<?xf32>) attrs =  {statement = "z", indices = ["i"]} {
    ^bb0(%21: f32, %22: f32):
      %23 = math.exp %21 : f32
      linalg.yield %23 : f32
    } -> tensor<?xf32>
    func.return %y : tensor<?x?xf32>
  }
}
