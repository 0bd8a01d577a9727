// Two iterations are worth a vector, one is not.

// CHECK: scf.for %i = %one to %two
// CHECK-NOT: vector
// CHECK: memref.store {{.*}}, %last
// CHECK: vector.create_mask
// CHECK: scf.for %k
// CHECK: vector.maskedload %x
// CHECK: vector.maskedstore %out
func.func @f(%x: memref<5x2xf32>, %out: memref<2xf32>, %last: memref<2xf32>) attributes {names = "x,out,last"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %five = arith.constant 5 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %i = %one to %two step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    "slc.set"(%nothing) <{variable = "total"}> : (f32) -> ()
    scf.for %k = %zero to %five step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %value = memref.load %x[%inner, %at] : memref<5x2xf32>
      %total = "slc.get"() <{variable = "total"}> : () -> f32
      %more = arith.addf %total, %value : f32
      "slc.set"(%more) <{variable = "total"}> : (f32) -> ()
      scf.yield
    }
    %sum = "slc.get"() <{variable = "total"}> : () -> f32
    memref.store %sum, %last[%at] : memref<2xf32>
    scf.yield
  }
  scf.for %i = %zero to %two step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    "slc.set"(%nothing) <{variable = "sum"}> : (f32) -> ()
    scf.for %k = %zero to %five step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %value = memref.load %x[%inner, %at] : memref<5x2xf32>
      %total = "slc.get"() <{variable = "sum"}> : () -> f32
      %more = arith.addf %total, %value : f32
      "slc.set"(%more) <{variable = "sum"}> : (f32) -> ()
      scf.yield
    }
    %sum = "slc.get"() <{variable = "sum"}> : () -> f32
    memref.store %sum, %out[%at] : memref<2xf32>
    scf.yield
  }
  func.return
}
