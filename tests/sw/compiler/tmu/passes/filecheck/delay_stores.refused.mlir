// What is not computed is stored at once, and what goes into an array that is loaded, or into the
// same word each time, too.

// CHECK-NOT: slc.set
// CHECK: memref.store %left, %out
// CHECK: memref.store %sum, %read
// CHECK: "flat.store"(%product) <{array = "same", offset = 1 : i64
// CHECK-NEXT: %one = arith.constant
builtin.module {
  func.func @f(%b: memref<5xi32>, %c: memref<6xi32>, %x: memref<5xf32>, %y: memref<6xf32>, %keys: memref<5xi32>, %out: memref<5xf32>, %read: memref<5xf32>, %same: memref<2xf32>) attributes {names = "b,c,x,y,keys,out,read,same"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %six = arith.constant 6 : i32
    "slc.merge"(%b, %c, %zero, %zero, %five, %six) <{kind = "conjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
    ^bb0(%k: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>):
      %0 = "slc.mem_str"(%x, %p) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %1 = "slc.mem_str"(%y, %q) : (memref<6xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%k, %0, %1) ({
      ^bb1(%key: i32, %left: f32, %right: f32):
        %n = "slc.get"() <{variable = "n"}> : () -> i32
        %at = arith.index_cast %n : i32 to index
        memref.store %key, %keys[%at] : memref<5xi32>
        memref.store %left, %out[%at] : memref<5xf32>
        %old = memref.load %read[%at] : memref<5xf32>
        %sum = arith.addf %old, %right : f32
        memref.store %sum, %read[%at] : memref<5xf32>
        %second = arith.constant 1 : index
        %product = arith.mulf %left, %right : f32
        memref.store %product, %same[%second] : memref<2xf32>
        %one = arith.constant 1 : i32
        %next = arith.addi %n, %one : i32
        "slc.set"(%next) <{variable = "n"}> : (i32) -> ()
      }) : (!slc.stream<i32>, !slc.stream<f32>, !slc.stream<f32>) -> ()
    }) : (memref<5xi32>, memref<6xi32>, i32, i32, i32, i32) -> ()
    func.return
  }
}
