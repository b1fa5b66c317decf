package metric_test

import (
	"fmt"

	"thole.example/metric"
)

func ExampleAUC() {
	score := []float64{0.1, 0.4, 0.35, 0.8}
	label := []float64{-1, -1, 1, 1}
	auc, err := metric.AUC(score, label)
	fmt.Println(auc, err)
	// Output: 0.75 <nil>
}
