// Arrays that somebody else accesses stay with the execute unit: one that is read, one with another
// store, of what is computed. So does what is stored at an index that its own loop loads, by a vector
// in a loop without, by a word in a loop of vectors, and in other lanes than those in use.

// CHECK-NOT: slc.store_str
builtin.module {
  func.func @f(%x: memref<6xf32>, %at: memref<6xi32>, %read: memref<6xf32>, %twice: memref<6xf32>, %scattered: memref<6xf32>, %wide: memref<9xf32>, %narrow: memref<6xf32>, %fewer: memref<12xf32>, %more: memref<12xf32>) attributes {names = "x,at,read,twice,scattered,wide,narrow,fewer,more"} {
    %zero = arith.constant 0 : i32
    %end = arith.constant 6 : i32
    %eleven = arith.constant 11 : i32
    %twelve = arith.constant 12 : i32
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
        %four = vector.broadcast %value : f32 to vector<4xf32>
        vector.store %four, %wide[%p] : memref<9xf32>, vector<4xf32>
      }) : (!slc.stream<i32>, !slc.stream<f32>, !slc.stream<i32>) -> ()
      "slc.for"(%zero, %eleven) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        "slc.callback"(%e, %0) <{masked}> ({
        ^bb0(%column: i32, %word: f32, %mask: vector<4xi1>):
          %c = arith.index_cast %column : i32 to index
          %words = vector.broadcast %word : f32 to vector<4xf32>
          %two = arith.constant 2 : index
          %first = vector.create_mask %two : vector<4xi1>
          vector.maskedstore %fewer[%c], %first, %words : memref<12xf32>, vector<4xi1>, vector<4xf32>
          vector.store %words, %more[%c] : memref<12xf32>, vector<4xf32>
        }) : (!slc.stream<vector<4xi32>>, !slc.stream<f32>) -> ()
      }) : (i32, i32) -> ()
      "slc.for"(%zero, %twelve) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        "slc.callback"(%i, %0) ({
        ^bb0(%line: i32, %word: f32):
          %r = arith.index_cast %line : i32 to index
          memref.store %word, %narrow[%r] : memref<6xf32>
        }) : (!slc.stream<i32>, !slc.stream<f32>) -> ()
      }) : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
