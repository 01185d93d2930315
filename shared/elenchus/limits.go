package elenchus

// The limits of a verification and of its calls.
const (
	maxFile     = 256 << 10 // bytes
	maxFiles    = 500
	maxBytes    = 20 << 20
	maxPerCall  = 50 // files
	maxWanted   = 50 // paths
	maxOutput   = 512 << 10
	maxPerRound = 100 // issues
	maxIssues   = 2000
)
