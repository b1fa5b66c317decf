// Package feature turns the columns of a table, as people have it, into the features that networks learn from: texts into the
// numbers of their levels, numbers into comparable sizes, times into their parts. What it found out about the columns of the
// training examples is a [Transform], which is saved with the model, so that raw rows are scored as they were learned.
//
// A column is a field of features, or several; the features of a field have consecutive ids, after those of the field before:
//
//	kind         fields          ids of the field, from its first on
//	numeric      1               0 the number, scaled; 1 "missing"
//	buckets      1               0 missing; 1 to n the bucket that the number is in
//	categorical  1               0 any other level; 1 to n the levels, the most frequent first
//	multi        1               the same; a cell has several levels, each with the value 1/how many
//	hash         1               0 to size-1, by the hash of the text
//	date         1 for each part as buckets (hour, weekday, day, month) or numeric (days)
//	label, weight, group, ignore have none
//
// A row has one feature of each field, but for multi. Id 0 of a categorical field is learned from the levels that are too rare for an
// id of their own; where there are none, an unseen level has the value 0 and so counts nothing. So has "missing" where nothing
// was missing in training. Levels of the same count are in the order of their texts: ids are a function of the rows, in any order.
package feature
