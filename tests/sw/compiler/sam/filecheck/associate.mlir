// PASSES: associate=A*(X*W)
// The small product comes first; what was computed for the first order is gone.

// CHECK: %t = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%X, %W :
// CHECK-SAME: statement = "t", indices = ["k", "j", "m"]}
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%A, %t :
// CHECK-SAME: statement = "y", indices = ["i", "j", "k"]}
// CHECK: %y = linalg.generic {{.*}} ins(%[[SUM]], %b :

builtin.module {
  func.func @f(%A: tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, %X: tensor<?x?xf32>, %W: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?x?xf32> attributes {inputs = ["A", "X", "W", "b"]} {
    %0 = arith.constant 1 : index
    %1 = arith.constant 0 : index
    %2 = tensor.dim %A, %1 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %3 = tensor.dim %X, %0 : tensor<?x?xf32>
    %4 = tensor.empty(%2, %3) : tensor<?x?xf32>
    %5 = arith.constant 0.000000e+00 : f32
    %6 = linalg.fill ins(%5 : f32) outs(%4 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%A, %X : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>, tensor<?x?xf32>) outs(%6 : tensor<?x?xf32>) attrs =  {statement = "t", indices = ["i", "m", "k"]} {
    ^bb0(%7: f32, %8: f32, %9: f32):
      %10 = arith.mulf %7, %8 : f32
      %11 = arith.addf %9, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<?x?xf32>
    %12 = tensor.dim %t, %1 : tensor<?x?xf32>
    %13 = tensor.dim %W, %0 : tensor<?x?xf32>
    %14 = tensor.empty(%12, %13) : tensor<?x?xf32>
    %15 = arith.constant 0.000000e+00 : f32
    %16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t, %W : tensor<?x?xf32>, tensor<?x?xf32>) outs(%16 : tensor<?x?xf32>) attrs =  {statement = "y", indices = ["i", "j", "m"]} {
    ^bb0(%18: f32, %19: f32, %20: f32):
      %21 = arith.mulf %18, %19 : f32
      %22 = arith.addf %20, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<?x?xf32>
    %23 = tensor.dim %17, %1 : tensor<?x?xf32>
    %24 = tensor.dim %17, %0 : tensor<?x?xf32>
    %25 = tensor.empty(%23, %24) : tensor<?x?xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17, %b : tensor<?x?xf32>, tensor<?xf32>) outs(%25 : tensor<?x?xf32>) attrs =  {statement = "y", indices = ["i", "j"]} {
    ^bb0(%26: f32, %27: f32, %28: f32):
      %29 = arith.addf %26, %27 : f32
      %30 = arith.constant 0.000000e+00 : f32
      %31 = arith.maximumf %29, %30 : f32
      linalg.yield %31 : f32
    } -> tensor<?x?xf32>
    func.return %y : tensor<?x?xf32>
  }
}
