package launcher

// Outcome is the outcome of a headless client by its output.
type Outcome struct {
	// Told is set if the client came to an end of its own; otherwise it was cut off, or could not begin.
	Told bool
	// Text are its last words.
	Text string
	// Failed says that the client calls the work failed, and Reason why.
	Failed bool
	Reason string
	// Session is the client's session, which can go on.
	Session string
	// Sum is the usage of the session, earlier runs included.
	Sum Usage
}

// Usage are tokens, those of caches included, and dollars where the client knows them.
type Usage struct {
	In      int64   `json:"in"`
	Out     int64   `json:"out"`
	Dollars float64 `json:"dollars,omitempty"`
}

// Since returns the usage after an earlier sum of the same session.
func (u Usage) Since(before Usage) Usage {
	return Usage{In: max(0, u.In-before.In), Out: max(0, u.Out-before.Out), Dollars: max(0, u.Dollars-before.Dollars)}
}
