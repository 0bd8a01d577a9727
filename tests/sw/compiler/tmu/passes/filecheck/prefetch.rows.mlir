// A row of a line is fetched once for all of its elements, a row ahead; columns, in a loop that is
// not around a longer one, element by element.

// CHECK: scf.for %i
// CHECK: [[NEXT:%.*]] = arith.addi %i
// CHECK: [[ROW:%.*]] = arith.index_cast [[NEXT]]
// CHECK: [[FIRST:%.*]] = arith.index_cast %zero
// CHECK: "flat.fetch"(%x, [[ROW]], [[FIRST]])
// CHECK: scf.for %j
// CHECK-NOT: "flat.fetch"
// CHECK: memref.load %x
// CHECK: scf.for [[COLUMN:%.*]] = %zero to %sixteen
// CHECK-NOT: "flat.fetch"
// CHECK: scf.for [[ROW:%.*]] = %zero to %four
// CHECK: [[FURTHER:%.*]] = arith.addi [[COLUMN]]
// CHECK: [[SAME:%.*]] = arith.index_cast [[ROW]]
// CHECK: [[LATER:%.*]] = arith.index_cast [[FURTHER]]
// CHECK: "flat.fetch"(%y, [[SAME]], [[LATER]])
// CHECK: memref.load %y
func.func @f(%x: memref<40x16xf32>, %y: memref<4x16xf32>, %out: memref<40x16xf32>) attributes {names = "x,y,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %sixteen = arith.constant 16 : i32
  %forty = arith.constant 40 : i32
  scf.for %i = %zero to %forty step %one : i32 {
    %row = arith.index_cast %i : i32 to index
    scf.for %j = %zero to %sixteen step %one : i32 {
      %column = arith.index_cast %j : i32 to index
      %element = memref.load %x[%row, %column] : memref<40x16xf32>
      %two = arith.addf %element, %element : f32
      %four_of = arith.addf %two, %two : f32
      %eight = arith.addf %four_of, %four_of : f32
      %square = arith.mulf %eight, %eight : f32
      %difference = arith.subf %square, %eight : f32
      %product = arith.mulf %difference, %square : f32
      memref.store %product, %out[%row, %column] : memref<40x16xf32>
      scf.yield
    }
    scf.yield
  }
  scf.for %j = %zero to %sixteen step %one : i32 {
    %column = arith.index_cast %j : i32 to index
    scf.for %i = %zero to %four step %one : i32 {
      %row = arith.index_cast %i : i32 to index
      %element = memref.load %y[%row, %column] : memref<4x16xf32>
      memref.store %element, %out[%row, %column] : memref<40x16xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
