package s3

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say which bucket, and how it is asked. Only Bucket has to be given. Credentials are those that every tool of AWS finds: the
// environment, the shared files with their profiles, web identities, the metadata of containers and machines.
type Options struct {
	Bucket    string
	Prefix    string // names lie below it; "" is the whole bucket
	Endpoint  string // "" is that of AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or of AWS itself
	Region    string // "" is that of the environment or the profile, else us-east-1
	Profile   string // of the shared files; "" is that of the environment
	PathStyle bool   // the bucket in the path and not in the name of the host; always so with an endpoint

	PartSize    int64         // bytes of the first parts of a large object; 0 is 16 MiB; AWS wants 5 MiB or more
	Concurrency int           // requests at once for one object, or one tree; 0 is 4
	Memory      int64         // bytes that all objects together may read ahead; 0 is 128 MiB
	Attempts    int           // of each request; 0 is what AWS_MAX_ATTEMPTS says, else 10
	Backoff     time.Duration // longest pause between two attempts; 0 is 10 s
	Timeout     time.Duration // for how long a connection may not move; 0 is 1 min
	Stale       time.Duration // age at which a publish that was begun is taken for one whose process ended; 0 is 1 min
	Lease       time.Duration // for how long a claim or hold stands that is not renewed, as every twelfth of it; 0 is 1 min
	First       time.Duration // for how long it is tried to reach a store for the first time; 0 is 5 s
	Age         time.Duration // at which unfinished uploads and temporary objects that nobody holds count as left; 0 is a day

	Tell  func(text string) // is called when the store has been away for Quiet, and when it answers again; nil: nobody is told
	Quiet time.Duration     // 0 is 2 s
}

const (
	minPart       = 5 << 20 // less is refused by AWS, for all parts but the last
	maxPart       = 5 << 30
	defaultPart   = 16 << 20
	defaultMemory = 128 << 20
)

// fill takes the defaults for what is not given, and refuses what cannot be.
func (o *Options) fill() error {
	o.Prefix = strings.Trim(o.Prefix, "/")
	switch {
	case o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?# "):
		return fmt.Errorf("blob: bucket %q, want the name of one, as in s3://BUCKET/PATH", o.Bucket)
	case o.Prefix != "" && checkName(o.Prefix) != nil:
		return fmt.Errorf("blob: s3://%s: %w", o.Bucket, checkName(o.Prefix))
	case o.PartSize < 0 || o.PartSize > maxPart:
		return fmt.Errorf("blob: s3://%s: parts of %d bytes, want at most %d", o.Bucket, o.PartSize, int64(maxPart))
	case o.Concurrency < 0 || o.Memory < 0 || o.Attempts < 0:
		return fmt.Errorf("blob: s3://%s: %d requests at once, %d bytes ahead, %d attempts: want none below 0",
			o.Bucket, o.Concurrency, o.Memory, o.Attempts)
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("blob: s3://%s: endpoint %q, want http://HOST:PORT or https://HOST", o.Bucket, o.Endpoint)
		}
	}
	fallback(&o.PartSize, defaultPart)
	fallback(&o.Concurrency, 4)
	fallback(&o.Memory, defaultMemory)
	fallback(&o.Attempts, 10)
	fallback(&o.Backoff, 10*time.Second)
	fallback(&o.Timeout, time.Minute)
	fallback(&o.Stale, time.Minute)
	fallback(&o.Lease, time.Minute)
	fallback(&o.First, 5*time.Second)
	fallback(&o.Quiet, 2*time.Second)
	fallback(&o.Age, 24*time.Hour)
	return nil
}

// fallback gives a value that was not given.
func fallback[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// Scheme begins the addresses that ParseURL takes.
const Scheme = "s3://"

// settings are the keys that an address may have behind its "?".
func settings(o *Options) map[string]func(value string) error {
	text := func(to *string) func(string) error {
		return func(v string) error { *to = v; return nil }
	}
	age := func(to *time.Duration) func(string) error {
		return func(v string) (err error) {
			if *to, err = time.ParseDuration(v); err == nil && *to <= 0 {
				err = fmt.Errorf("want more than 0")
			}
			return err
		}
	}
	return map[string]func(string) error{
		"endpoint": text(&o.Endpoint),
		"region":   text(&o.Region),
		"profile":  text(&o.Profile),
		"path-style": func(v string) (err error) {
			o.PathStyle, err = strconv.ParseBool(v)
			return err
		},
		"part-size": func(v string) (err error) {
			if o.PartSize, err = strconv.ParseInt(v, 10, 64); err == nil && (o.PartSize < minPart || o.PartSize > maxPart) {
				err = fmt.Errorf("want %d to %d bytes", minPart, int64(maxPart))
			}
			return err
		},
		"concurrency": func(v string) (err error) {
			o.Concurrency, err = strconv.Atoi(v)
			return err
		},
		"timeout": age(&o.Timeout),
		"age":     age(&o.Age),
	}
}

// ParseURL reads an address like s3://BUCKET/PREFIX?endpoint=http://HOST:PORT&region=eu-1. The path is taken as it stands, as other
// tools do: a percent sign is one. Behind the "?" stand endpoint, region, profile, path-style, part-size (bytes), concurrency,
// timeout and age, as the fields of Options.
func ParseURL(address string) (Options, error) {
	var o Options
	rest, is := strings.CutPrefix(address, Scheme)
	if !is {
		return o, fmt.Errorf("blob: %q, want s3://BUCKET/PATH", address)
	}
	rest, query, _ := strings.Cut(rest, "?")
	o.Bucket, o.Prefix, _ = strings.Cut(rest, "/")
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, fmt.Errorf("blob: %q behind the question mark: %w", address, err)
	}
	known := settings(&o)
	for key, all := range values {
		set := known[key]
		if set == nil || len(all) != 1 {
			return o, fmt.Errorf("blob: %q: %q is there %d times, want each of %s at most once", address, key, len(all), keys(known))
		}
		if err := set(all[0]); err != nil {
			return o, fmt.Errorf("blob: %q: %s %q: %w", address, key, all[0], err)
		}
	}
	check := o
	err = check.fill()
	o.Prefix = check.Prefix
	return o, err
}

func keys(known map[string]func(string) error) string {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
