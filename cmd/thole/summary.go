package main

import (
	"fmt"
	"hash/crc32"
	"net/url"
)

// networkSum is a checksum of the network that a file describes.
func (p *plan) networkSum() uint32 {
	if p.network == nil {
		return 0
	}
	return crc32.Checksum(p.network.JSON(), crc32.MakeTable(crc32.Castagnoli))
}

// summary is what all workers of a job must agree on, as words "name=value". The path of the model may be missing where the
// first task is not.
func (p *plan) summary() string {
	epochs, resume := p.epochs, p.resume
	if p.forest != nil { // whose name is trees, and which task 0 alone goes on from
		epochs, resume = 0, ""
	}
	return fmt.Sprintf("algo=%s loss=%s/%v size=%v compat=%v rule=%s hyper=%v l1=%g l2=%g rate=%g schedule=%s/%s/%v epochs=%d "+
		"batch=%d seed=%d in-order=%v tolerance=%g init=%s/%g sparse=%v keep=%s field-dims=%s storage=%s partitioner=%s load=%s "+
		"%s model=%s graph=%08x pos-neg=%g clip=%g early-stop=%d/%s/%s/%g state=%s/%s rules=%s "+
		"class-weights=%s positive-weight=%g negatives=%g l1-of=%v l2-of=%v window=%d give-up=%v %s",
		p.algo, p.loss, p.lossSet, p.conf.Size, p.asAngel, p.rule, p.conf.Hyper, p.l1, p.l2, p.rate, p.schedule, p.per, p.decay,
		epochs, p.batch, p.seed, p.inOrder, p.tolerance, p.initKind, p.initScale, p.sparse, p.keepText(),
		url.PathEscape(fmt.Sprint(p.fieldDims)), p.storage, p.partitioner, url.PathEscape(p.load), p.examplesText(),
		url.PathEscape(p.model), p.networkSum(), p.posNeg, p.clip, p.patience, p.by, p.mode, p.delta,
		url.PathEscape(p.loadState), url.PathEscape(resume), url.PathEscape(p.rulesText()),
		url.PathEscape(p.classWeights), p.positiveWeight, p.negatives, url.PathEscape(fmt.Sprint(p.l1Of)),
		url.PathEscape(fmt.Sprint(p.l2Of)), p.window, p.giveUp, p.treesText())
}

// keepText is which columns are kept.
func (p *plan) keepText() string {
	k := &p.keep
	return fmt.Sprintf("%d/%d/%d/%d/%g/%g/%d/%g", k.AdmitAfter, k.ForgetAfter, k.ExpireAfter, k.MaxBytes, k.ShowWeight, k.ClickWeight,
		k.HalfLife, k.EvictBelow)
}

// examplesText is what all workers must agree on of the examples, as words of the summary. Trees have none: one worker reads them.
func (p *plan) examplesText() string {
	if p.forest != nil {
		return "examples="
	}
	return fmt.Sprintf("examples=%d classes=%v dim=%d fields=%d data=%08x", p.rows, []float32(p.train.Classes), p.conf.Dim, p.train.Fields,
		p.digest)
}

// treesText is the settings of trees as words of the summary, with the names of their flags; of a network they are empty.
func (p *plan) treesText() string {
	if p.forest == nil {
		return "trees="
	}
	g, d, child := &p.treeSettings, &p.dropSettings, "default"
	if p.given("min-child-weight") {
		child = fmt.Sprint(g.minWeight)
	}
	return fmt.Sprintf("trees=%d depth=%d leaves=%d growth=%s bins=%d min-child-weight=%s gamma=%g max-delta-step=%g subsample=%g "+
		"colsample=%g monotone=%s cat-one-hot=%d cat-order=%s cat-smooth=%g cat-l2=%g cat-levels=%d cat-weight=%g share=%s votes=%d "+
		"boosting=%s drop-rate=%g skip-drop=%g max-drop=%d",
		g.trees, g.treeDepth, g.leaves, g.growth, g.bins, child, g.gamma, g.maxStep, g.rowShare, g.columnShare,
		url.PathEscape(fmt.Sprint(g.monotone)), g.oneHot, g.order, g.smooth, g.levelL2, g.setLevels, g.levelWeight, g.shared, g.votes,
		d.boosting, d.dropRate, d.skipDrop, d.maxDrop) // maps are printed in the order of their keys
}
