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
	return fmt.Sprintf("algo=%s loss=%s/%v size=%v compat=%v rule=%s hyper=%v l1=%g l2=%g rate=%g schedule=%s/%s/%v epochs=%d "+
		"batch=%d seed=%d in-order=%v tolerance=%g init=%s/%g sparse=%v keep=%d/%d/%d/%d storage=%s partitioner=%s load=%s "+
		"%s model=%s graph=%08x pos-neg=%g clip=%g early-stop=%d/%s/%s/%g state=%s/%s rules=%s "+
		"class-weights=%s positive-weight=%g negatives=%g l1-of=%v l2-of=%v window=%d trees=%s",
		p.algo, p.loss, p.lossSet, p.conf.Size, p.asAngel, p.rule, p.conf.Hyper, p.l1, p.l2, p.rate, p.schedule, p.per, p.decay,
		p.epochs, p.batch, p.seed, p.inOrder, p.tolerance, p.initKind, p.initScale, p.sparse, p.keep.AdmitAfter, p.keep.ForgetAfter,
		p.keep.ExpireAfter, p.keep.MaxBytes, p.storage, p.partitioner, url.PathEscape(p.load), p.examplesText(),
		url.PathEscape(p.model), p.networkSum(), p.posNeg, p.clip, p.patience, p.by, p.mode, p.delta,
		url.PathEscape(p.loadState), url.PathEscape(p.resume), url.PathEscape(p.rulesText()),
		url.PathEscape(p.classWeights), p.positiveWeight, p.negatives, url.PathEscape(fmt.Sprint(p.l1Of)),
		url.PathEscape(fmt.Sprint(p.l2Of)), p.window, p.treesText())
}

// examplesText is what all workers must agree on of the examples, as words of the summary. Trees have none: one worker reads them.
func (p *plan) examplesText() string {
	if p.forest != nil {
		return "examples="
	}
	return fmt.Sprintf("examples=%d classes=%v dim=%d fields=%d data=%08x", p.rows, []float32(p.train.Classes), p.conf.Dim, p.train.Fields,
		p.digest)
}
