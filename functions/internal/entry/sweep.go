package entry

import (
	"context"
	"encoding/json"
	"net/http"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
)

// answer is the body of every sweep's answer, in the envelope of the hub's REST answers.
type answer struct {
	Success bool        `json:"success"`
	Data    *app.Report `json:"data,omitempty"`
	Error   *problem    `json:"error,omitempty"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Sweep returns the function of a sweep. It accepts a POST without a body and answers with a report of the run, which
// may be partial: the next run continues where the time limit ended this one. If the run failed, the answer has the
// report of the part that succeeded, with the status 503 if another try may succeed soon, and else 500.
func (p *Handlers) Sweep(function string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			p.reply(w, http.StatusMethodNotAllowed,
				answer{Error: &problem{fault.Invalid.Code(), "a sweep must be called with POST"}})
			return
		}
		r, err := p.open(req.Context())
		if err != nil {
			p.refuse(w, err, nil)
			return
		}
		sweep, err := r.sweep(function)
		if err != nil {
			p.refuse(w, err, nil)
			return
		}
		ctx, cancel := context.WithTimeout(req.Context(), r.sweepFor)
		defer cancel()
		begun := p.Now()
		report, err := sweep.Run(ctx, r.admin)
		about := []any{"sweep", sweep.Name, "handled", report.Handled, "more", report.More, "durationMs",
			p.Now().Sub(begun).Milliseconds()}
		if err != nil {
			p.Log.ErrorContext(ctx, "sweep", append(about, "fault", fault.Of(err).Code(), "cause", err.Error())...)
			p.refuse(w, err, &report)
			return
		}
		p.Log.InfoContext(ctx, "sweep", about...)
		p.reply(w, http.StatusOK, answer{Success: true, Data: &report})
	}
}

// refuse answers with the kind of err but without its text.
func (p *Handlers) refuse(w http.ResponseWriter, err error, report *app.Report) {
	kind, status := fault.Of(err), http.StatusInternalServerError
	if kind == fault.Unavailable || kind == fault.Conflict {
		status = http.StatusServiceUnavailable
	}
	p.reply(w, status, answer{Data: report,
		Error: &problem{kind.Code(), "the sweep is incomplete; the log has the cause, and the next run continues"}})
}

func (p *Handlers) reply(w http.ResponseWriter, status int, a answer) {
	body, err := json.Marshal(a)
	if err != nil {
		p.Log.Error("sweep", "cause", err.Error())
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have disconnected
}
