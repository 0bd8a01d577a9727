// A largest element that is chosen, lane after lane.

// CHECK: [[ELEMENTS:%.*]] = vector.load %x
// CHECK: [[FIRST:%.*]] = vector.extract [[ELEMENTS]][0]
// CHECK: [[IS_LARGER:%.*]] = arith.cmpf ogt, [[FIRST]], {{.*}} : f32
// CHECK: arith.select [[IS_LARGER]], [[FIRST]], {{.*}} : f32
// CHECK: vector.extract [[ELEMENTS]][3]
// CHECK: arith.select {{.*}} : f32
// CHECK-NOT: arith.select
func.func @f(%x: memref<8xf32>) attributes {names = "x"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  scf.for %e = %zero to %eight step %one : i32 {
    %at = arith.index_cast %e : i32 to index
    %element = memref.load %x[%at] : memref<8xf32>
    %most = "slc.get"() <{variable = "most"}> : () -> f32
    %is_larger = arith.cmpf ogt, %element, %most : f32
    %larger = arith.select %is_larger, %element, %most : f32
    "slc.set"(%larger) <{variable = "most"}> : (f32) -> ()
    scf.yield
  }
  func.return
}
