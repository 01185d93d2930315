package entry

import (
	"context"
	"encoding/json"
	"net/http"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
)

// answer is the body of every sweep's answer, in the form of the hub's.
type answer struct {
	Success bool        `json:"success"`
	Data    *app.Report `json:"data,omitempty"`
	Error   *problem    `json:"error,omitempty"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Sweep is the function of a sweep. It takes a POST without a body and answers with
// what was handled, also where something failed: then the status is 503 where trying
// again soon may mend it, and else 500. What it does not get to within its time the
// next run does.
func (p *Points) Sweep(function string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			p.reply(w, http.StatusMethodNotAllowed,
				answer{Error: &problem{fault.Invalid.Code(), "a sweep is started with POST"}})
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
		about := []any{"sweep", sweep.Name, "settled", report.Handled, "more", report.More, "ms", p.Now().Sub(begun).Milliseconds()}
		if err != nil {
			p.Log.ErrorContext(ctx, "sweep", append(about, "fault", fault.Of(err).Code(), "cause", err.Error())...)
			p.refuse(w, err, &report)
			return
		}
		p.Log.InfoContext(ctx, "sweep", about...)
		p.reply(w, http.StatusOK, answer{Success: true, Data: &report})
	}
}

// refuse answers with the kind of err, and with nothing of its text.
func (p *Points) refuse(w http.ResponseWriter, err error, report *app.Report) {
	kind, status := fault.Of(err), http.StatusInternalServerError
	if kind == fault.Unavailable || kind == fault.Conflict {
		status = http.StatusServiceUnavailable
	}
	p.reply(w, status, answer{Data: report, Error: &problem{kind.Code(), "not everything could be handled; the log has the cause, and the next run goes on"}})
}

func (p *Points) reply(w http.ResponseWriter, status int, a answer) {
	body, err := json.Marshal(a)
	if err != nil {
		p.Log.Error("sweep", "cause", err.Error())
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who asked may be gone
}
