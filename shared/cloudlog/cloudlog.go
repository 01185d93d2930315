package cloudlog

import (
	"io"
	"log/slog"
)

// New returns a logger that writes one line of JSON for each record: severity, message, timestamp, and the attributes
// under their own names.
func New(out io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: rename}))
}

// rename replaces the keys and levels of slog by those of Cloud Logging.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.LevelKey:
		a.Key = "severity"
		if a.Value.Any() == slog.LevelWarn {
			a.Value = slog.StringValue("WARNING")
		}
	case slog.MessageKey:
		a.Key = "message"
	case slog.TimeKey:
		a.Key = "timestamp"
	}
	return a
}
