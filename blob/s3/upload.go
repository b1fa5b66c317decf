package s3

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// upload is an object that is being made of parts.
type upload struct{ key, id, mark string }

// begin begins one, whose parts come with checksums of that kind; "" is none.
func (b *Bucket) begin(ctx context.Context, key string, sums types.ChecksumAlgorithm) (upload, error) {
	u := upload{key: key, mark: rand.Text()}
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.opts.Bucket, Key: &key, ChecksumAlgorithm: sums, Metadata: map[string]string{markKey: u.mark},
	}, func(o *s3.Options) { o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired })
	if err == nil {
		u.id = aws.ToString(out.UploadId)
	}
	return u, err
}

// part uploads one part, with numbers from 0 on.
func (b *Bucket) part(ctx context.Context, u upload, i int, body io.ReadSeeker, size int64) (types.CompletedPart, error) {
	sum, err := checksum(body)
	if err != nil {
		return types.CompletedPart{}, err
	}
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &b.opts.Bucket, Key: &u.key, UploadId: &u.id, PartNumber: aws.Int32(int32(i + 1)), Body: body, ContentLength: &size,
		ChecksumCRC32C: sum,
	}, unsigned)
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: out.ETag, ChecksumCRC32C: sum}, nil
}

// complete makes the object of the parts, on a condition. As with put, the mark tells what was done without an answer.
func (b *Bucket) complete(ctx context.Context, u upload, parts []types.CompletedPart, on condition) error {
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &b.opts.Bucket, Key: &u.key, UploadId: &u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	}
	in.IfMatch, in.IfNoneMatch = on.headers()
	_, err := b.client.CompleteMultipartUpload(ctx, in)
	if noUpload(err) || missing(err) || refused(err) {
		if _, mine := b.mine(ctx, u.key, u.mark); mine {
			return nil
		}
	}
	return err
}

// abandon removes the parts. What fails to be removed is found by Sweep when it is old.
func (b *Bucket) abandon(u upload) {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	_, _ = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.opts.Bucket, Key: &u.key, UploadId: &u.id})
}
