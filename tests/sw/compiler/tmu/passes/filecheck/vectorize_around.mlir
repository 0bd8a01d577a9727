// Each lane has an inner product of its own; the last one, of nine, has a mask.

// CHECK: [[STEP:%.*]] = arith.constant 4 : i32
// CHECK: scf.for %i = {{.*}} step [[STEP]]
// CHECK: "slc.set"({{.*}}) <{variable = "total_of_each_lane"}> : (vector<4xf32>) -> ()
// CHECK: scf.for %k
// CHECK: vector.load %x[%inner, %at] : {{.*}}, vector<4xf32>
// CHECK: "slc.get"() <{variable = "total_of_each_lane"}>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: vector.store {{.*}}, %out
// CHECK: vector.create_mask
// CHECK: scf.for %k
// CHECK: vector.maskedload %x
// CHECK: vector.maskedstore %out
func.func @f(%x: memref<5x9xf32>, %out: memref<9xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  %nine = arith.constant 9 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %i = %zero to %nine step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    "slc.set"(%nothing) <{variable = "total"}> : (f32) -> ()
    scf.for %k = %zero to %five step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %value = memref.load %x[%inner, %at] : memref<5x9xf32>
      %total = "slc.get"() <{variable = "total"}> : () -> f32
      %more = arith.addf %total, %value : f32
      "slc.set"(%more) <{variable = "total"}> : (f32) -> ()
      scf.yield
    }
    %sum = "slc.get"() <{variable = "total"}> : () -> f32
    memref.store %sum, %out[%at] : memref<9xf32>
    scf.yield
  }
  func.return
}
