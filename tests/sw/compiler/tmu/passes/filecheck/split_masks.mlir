// A callback that adds what both fibers have, and else takes what either has, branches; the word of
// the fiber that lacks the coordinate is 0.

// CHECK: %[[BOTH:.*]] = arith.cmpi sgt, %m,
// CHECK-NEXT: scf.if %[[BOTH]] {
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %left, %right : f32
// CHECK: memref.store %[[SUM]], %out
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[LEFT:.*]] = arith.bitcast %left : f32 to i32
// CHECK-NEXT: %[[RIGHT:.*]] = arith.bitcast %right : f32 to i32
// CHECK-NEXT: %[[EITHER:.*]] = arith.ori %[[LEFT]], %[[RIGHT]] : i32
// CHECK-NEXT: %[[WORD:.*]] = arith.bitcast %[[EITHER]] : i32 to f32
// CHECK: memref.store %[[WORD]], %out
// CHECK-NOT: arith.select
builtin.module {
  func.func @f(%b: memref<5xi32>, %c: memref<6xi32>, %x: memref<5xf32>, %y: memref<6xf32>, %out: memref<3x7xf32>) attributes {names = "b,c,x,y,out"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %six = arith.constant 6 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      "slc.merge"(%b, %c, %zero, %zero, %five, %six) <{kind = "disjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
      ^bb1(%j: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>, %mask: !slc.stream<i32>):
        %0 = "slc.mem_str"(%x, %p) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
        %1 = "slc.mem_str"(%y, %q) : (memref<6xf32>, !slc.stream<i32>) -> !slc.stream<f32>
        "slc.callback"(%mask, %0, %1, %i, %j) ({
        ^bb2(%m: i32, %left: f32, %right: f32, %i_1: i32, %j_1: i32):
          %two = arith.constant 2 : i32
          %both = arith.cmpi sgt, %m, %two : i32
          %has_left = arith.trunci %m : i32 to i1
          %sum = arith.addf %left, %right : f32
          %one = arith.select %has_left, %left, %right : f32
          %value = arith.select %both, %sum, %one : f32
          %row = arith.index_cast %i_1 : i32 to index
          %column = arith.index_cast %j_1 : i32 to index
          memref.store %value, %out[%row, %column] : memref<3x7xf32>
        }) : (!slc.stream<i32>, !slc.stream<f32>, !slc.stream<f32>, !slc.stream<i32>, !slc.stream<i32>) -> ()
      }) : (memref<5xi32>, memref<6xi32>, i32, i32, i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
