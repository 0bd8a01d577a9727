// Arrays that somebody else accesses stay with the execute unit: one that is read, one with another
// store, of what is computed. So does what is stored at an index that its own loop loads.

// CHECK-NOT: slc.store_str
builtin.module {
  func.func @f(%x: memref<6xf32>, %at: memref<6xi32>, %read: memref<6xf32>, %twice: memref<6xf32>, %scattered: memref<6xf32>) attributes {names = "x,at,read,twice,scattered"} {
    %zero = arith.constant 0 : i32
    %end = arith.constant 6 : i32
    "slc.for"(%zero, %end) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      %0 = "slc.mem_str"(%x, %i) : (memref<6xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %1 = "slc.mem_str"(%at, %i) : (memref<6xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.callback"(%i, %0, %1) ({
      ^bb0(%place: i32, %value: f32, %index: i32):
        %p = arith.index_cast %place : i32 to index
        %q = arith.index_cast %index : i32 to index
        memref.store %value, %read[%p] : memref<6xf32>
        memref.store %value, %twice[%p] : memref<6xf32>
        memref.store %value, %scattered[%q] : memref<6xf32>
        %old = memref.load %read[%q] : memref<6xf32>
        %double = arith.addf %old, %value : f32
        memref.store %double, %twice[%p] : memref<6xf32>
      }) : (!slc.stream<i32>, !slc.stream<f32>, !slc.stream<i32>) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
