// Elements in whole vectors and a rest with a mask; a sum, lane after lane.

// CHECK: scf.for %e = {{.*}} : i32 {
// CHECK: [[LEFT:%.*]] = vector.load %x
// CHECK: [[SQUARE:%.*]] = arith.mulf {{.*}} : vector<4xf32>
// CHECK: [[FIRST:%.*]] = vector.extract [[SQUARE]][0]
// CHECK: [[SUM:%.*]] = arith.addf {{.*}}, [[FIRST]] : f32
// CHECK: vector.extract [[SQUARE]][1]
// CHECK: vector.extract [[SQUARE]][3]
// CHECK: vector.create_mask
// CHECK: vector.maskedload %x
// CHECK: vector.extract {{.*}}[1]
// CHECK-NOT: vector.extract
func.func @f(%x: memref<6xf32>, %out: memref<1xf32>) attributes {names = "x,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %six = arith.constant 6 : i32
  scf.for %e = %zero to %six step %one : i32 {
    %at = arith.index_cast %e : i32 to index
    %element = memref.load %x[%at] : memref<6xf32>
    %square = arith.mulf %element, %element : f32
    %total = "slc.get"() <{variable = "total"}> : () -> f32
    %more = arith.addf %total, %square : f32
    "slc.set"(%more) <{variable = "total"}> : (f32) -> ()
    scf.yield
  }
  func.return
}
