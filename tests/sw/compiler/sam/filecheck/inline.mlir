// PASSES: inline
// What is taken once goes into the sum, which keeps its order of loops; a result stays.

// CHECK-NOT: statement = "t"
// CHECK: %u = linalg.generic {{.*}} ins(%A :
// CHECK-SAME: statement = "u"
// CHECK: %y = linalg.generic {{.*}} ins(%A, %u :
// CHECK-SAME: statement = "y", indices = ["i", "j"], order = ["i", "j"]}
// CHECK: %[[DOUBLE:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[DOUBLE]], %{{.*}} : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[PRODUCT]] : f32
// CHECK: func.return %y, %u

builtin.module {
  func.func @f(%A: tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>) -> (tensor<?xf32>, tensor<?x?xf32>) attributes {inputs = ["A"]} {
    %0 = arith.constant 1 : index
    %1 = arith.constant 0 : index
    %2 = tensor.dim %A, %1 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %3 = tensor.dim %A, %0 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %4 = tensor.empty(%2, %3) : tensor<?x?xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%A : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>) outs(%4 : tensor<?x?xf32>) attrs =  {statement = "t", indices = ["j", "i"]} {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.constant 2.000000e+00 : f32
      %8 = arith.mulf %5, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<?x?xf32>
    %9 = tensor.dim %A, %0 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %10 = tensor.dim %A, %1 : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>
    %11 = tensor.empty(%9, %10) : tensor<?x?xf32>
    %u = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%A : tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>) outs(%11 : tensor<?x?xf32>) attrs =  {statement = "u", indices = ["i", "j"]} {
    ^bb0(%12: f32, %13: f32):
      %14 = arith.constant 0.000000e+00 : f32
      %15 = arith.maximumf %12, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<?x?xf32>
    %16 = tensor.dim %t, %0 : tensor<?x?xf32>
    %17 = tensor.empty(%16) : tensor<?xf32>
    %18 = arith.constant 0.000000e+00 : f32
    %19 = linalg.fill ins(%18 : f32) outs(%17 : tensor<?xf32>) -> tensor<?xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%t, %u : tensor<?x?xf32>, tensor<?x?xf32>) outs(%19 : tensor<?xf32>) attrs =  {statement = "y", indices = ["i", "j"]} {
    ^bb0(%20: f32, %21: f32, %22: f32):
      %23 = arith.mulf %20, %21 : f32
      %24 = arith.addf %22, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<?xf32>
    func.return %y, %u : tensor<?xf32>, tensor<?x?xf32>
  }
}
