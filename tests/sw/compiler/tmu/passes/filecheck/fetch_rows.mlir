// Two rows on, every line of the words that are loaded: rows of 40 words begin in the middle of lines.
// Not of arrays of two rows, nor of a row that the stream does not name: its second word, or a variable.

// CHECK: %[[ROW:.*]] = vector.extract %{{.*}}[0]
// CHECK: "slc.set"({{.*}}) <{variable = "f"}>
// CHECK: %[[THEN:.*]] = arith.addi %[[ROW]]
// CHECK-NEXT: arith.constant 12 : i32
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[THEN]]
// CHECK: "flat.fetch"(%out, %[[AT]], {{.*}}
// CHECK-NEXT: arith.constant 16 : i32
// CHECK: "flat.fetch"(%out
// CHECK-NEXT: arith.constant 23 : i32
// CHECK: "flat.fetch"(%out
// CHECK-NOT: flat.fetch
builtin.module {
  func.func @f(%row: memref<5xi32>, %out: memref<9x40xf32>, %small: memref<2x4xf32>) attributes {names = "row,out,small"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %r = "slc.mem_str"(%row, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.toggle"(%r) <{aligned}> ({
      ^bb1(%words: vector<4xi32>):
        %first = vector.extract %words[0] : i32 from vector<4xi32>
        %at = arith.index_cast %first : i32 to index
        %c12 = arith.constant 12 : index
        %0 = vector.load %out[%at, %c12] : memref<9x40xf32>, vector<4xf32>
        "slc.set"(%0) <{variable = "a"}> : (vector<4xf32>) -> ()
        %c16 = arith.constant 16 : index
        %1 = vector.load %out[%at, %c16] : memref<9x40xf32>, vector<4xf32>
        "slc.set"(%1) <{variable = "b"}> : (vector<4xf32>) -> ()
        %c20 = arith.constant 20 : index
        %2 = vector.load %out[%at, %c20] : memref<9x40xf32>, vector<4xf32>
        "slc.set"(%2) <{variable = "c"}> : (vector<4xf32>) -> ()
        %c0 = arith.constant 0 : index
        %3 = vector.load %small[%at, %c0] : memref<2x4xf32>, vector<4xf32>
        "slc.set"(%3) <{variable = "d"}> : (vector<4xf32>) -> ()
        %other = vector.extract %words[1] : i32 from vector<4xi32>
        %there = arith.index_cast %other : i32 to index
        %4 = vector.load %out[%there, %c0] : memref<9x40xf32>, vector<4xf32>
        "slc.set"(%4) <{variable = "e"}> : (vector<4xf32>) -> ()
        %kept = "slc.get"() <{variable = "kept"}> : () -> vector<4xi32>
        %before = vector.extract %kept[0] : i32 from vector<4xi32>
        %where = arith.index_cast %before : i32 to index
        %5 = vector.load %out[%where, %c0] : memref<9x40xf32>, vector<4xf32>
        "slc.set"(%5) <{variable = "f"}> : (vector<4xf32>) -> ()
      }) : (!slc.stream<i32>) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
