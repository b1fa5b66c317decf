package angel

// snapshot stores rows as the server holds them: the values of a dense row, column ids and values of a sparse one, in any
// order. saveType says which a row is.
var snapshot = layout{
	name: "SnapshotFormat", colID: true, framed: true, snapshot: true,
	f64: colIDValueBinary.f64, f32: colIDValueBinary.f32, i64: colIDValueBinary.i64, i32: colIDValueBinary.i32,
}

// denseSnapshot is how a dense matrix is written in that format.
var denseSnapshot = layout{
	name: "SnapshotFormat", framed: true, snapshot: true,
	f64: valueBinary.f64, f32: valueBinary.f32, i64: valueBinary.i64, i32: valueBinary.i32,
}
