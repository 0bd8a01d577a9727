// Of a vector of which two words are left in the row, the lines of those two: not of the next row's.

// CHECK: vector.maskedload %out
// CHECK: arith.constant 8 : i32
// CHECK: "flat.fetch"(%out
// CHECK-NEXT: arith.constant 9 : i32
// CHECK: "flat.fetch"(%out
// CHECK-NOT: flat.fetch
builtin.module {
  func.func @f(%row: memref<5xi32>, %out: memref<9x10xf32>) attributes {names = "row,out"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %r = "slc.mem_str"(%row, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.toggle"(%r) <{aligned}> ({
      ^bb1(%words: vector<4xi32>):
        %first = vector.extract %words[0] : i32 from vector<4xi32>
        %at = arith.index_cast %first : i32 to index
        %c8 = arith.constant 8 : index
        %two = arith.constant 2 : index
        %mask = vector.create_mask %two : vector<4xi1>
        %nothing = arith.constant dense<0.0> : vector<4xf32>
        %0 = vector.maskedload %out[%at, %c8], %mask, %nothing : memref<9x10xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
        "slc.set"(%0) <{variable = "a"}> : (vector<4xf32>) -> ()
      }) : (!slc.stream<i32>) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
