// Where more is asked than whether it is the first iteration, that stays to be asked.

// CHECK: [[FIRST:%.*]] = arith.constant true
// CHECK: [[POSITIVE:%.*]] = arith.cmpf ogt, %element,
// CHECK: [[BOTH:%.*]] = arith.andi [[FIRST]], [[POSITIVE]]
// CHECK: [[EITHER:%.*]] = arith.select [[POSITIVE]], [[FIRST]], [[BOTH]]
// CHECK: scf.if [[EITHER]]
// CHECK: scf.for %p
// CHECK: [[FIRST:%.*]] = arith.constant false
// CHECK: [[POSITIVE:%.*]] = arith.cmpf
// CHECK: [[BOTH:%.*]] = arith.andi [[FIRST]], [[POSITIVE]]
// CHECK: [[EITHER:%.*]] = arith.select [[POSITIVE]], [[FIRST]], [[BOTH]]
// CHECK: scf.if [[EITHER]]
func.func @f(%x: memref<20xf32>, %n: memref<i32>, %out: memref<20xf32>) attributes {names = "x,n,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nothing = arith.constant 0.0 : f32
  %end = memref.load %n[] : memref<i32>
  scf.for %p = %zero to %end step %one : i32 {
    %at = arith.index_cast %p : i32 to index
    %element = memref.load %x[%at] : memref<20xf32>
    %is_first = arith.cmpi eq, %p, %zero : i32
    %is_positive = arith.cmpf ogt, %element, %nothing : f32
    %both = arith.andi %is_first, %is_positive : i1
    %either = arith.select %is_positive, %is_first, %both : i1
    scf.if %either {
      memref.store %element, %out[%at] : memref<20xf32>
    }
    scf.yield
  }
  func.return
}
