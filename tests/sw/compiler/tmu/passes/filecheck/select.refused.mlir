// A load that may be outside of its array is done only where it is chosen; and words that may
// differ stay two stores.

// CHECK: scf.if
// CHECK: memref.load %values
// CHECK: memref.store
// CHECK: else
// CHECK: memref.store
// CHECK: scf.if
// CHECK: memref.store
// CHECK: else
// CHECK: memref.store
// CHECK-NOT: arith.select
func.func @f(%at: memref<9xi32>, %values: memref<9xf32>, %out: memref<9xf32>) attributes {names = "at,values,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nine = arith.constant 9 : i32
  %half = arith.constant 5.000000e-01 : f32
  scf.for %i = %zero to %nine step %one : i32 {
    %here = arith.index_cast %i : i32 to index
    %place = memref.load %at[%here] : memref<9xi32>
    %there = arith.index_cast %place : i32 to index
    %is_one = arith.cmpi slt, %place, %nine : i32
    scf.if %is_one {
      %value = memref.load %values[%there] : memref<9xf32>
      memref.store %value, %out[%here] : memref<9xf32>
    } else {
      memref.store %half, %out[%here] : memref<9xf32>
    }
    scf.if %is_one {
      memref.store %half, %out[%there] : memref<9xf32>
    } else {
      memref.store %half, %out[%here] : memref<9xf32>
    }
  }
  func.return
}
