package elenchus

// The limits of a verification and of its calls.
const (
	maxFile     = 256 << 10 // bytes of a file
	maxFiles    = 500       // files of a verification
	maxBytes    = 20 << 20  // bytes of the files of a verification
	maxPerCall  = 50        // files of a call
	maxWanted   = 50        // paths in filesWanted
	maxOutput   = 512 << 10 // bytes of the output of a round
	maxReply    = 64 << 10  // bytes of the outputs in a reply
	maxPerRound = 100       // issues that a round raises
	maxIssues   = 2000      // issues of a verification
)
