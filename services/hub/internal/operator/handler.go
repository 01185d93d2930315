package operator

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/team"
)

// The trailers of an export: the number of documents, and the error that ended it.
const (
	countTrailer = "Parley-Documents"
	errorTrailer = "Parley-Error"
)

// The inputs of the calls.
type (
	userInput  struct{ User string }
	issueInput struct {
		User string
		Key  keys.CreateInput
	}
	listInput struct {
		User string
		List keys.ListInput
	}
	revokeInput struct{ User, ID string }
	linkInput   struct {
		User    string
		Console bool
	}
	importInput struct {
		User, Program string
		Team          archive
	}
	teamInput    struct{ User, Name string }
	examineInput struct{ Check string }
	nothing      struct{}
)

// archive is a team on the way between the two ends. Its parts are fields of their own, because an embedded one could
// decide about the JSON of the whole.
type archive struct {
	Config  team.Config
	Inboxes map[string][]team.Message
	Tasks   []team.Task
}

// failure is the body of a refused call.
type failure struct{ Code, Message string }

// Handler answers the calls of [Remote] whose requests have the token. It calls tell with the name of each. The files of
// backups are in the directory on their way.
func Handler(o Operator, dir, token string, tell func(call string)) http.Handler {
	mux := http.NewServeMux()
	handle(mux, "issue", func(ctx context.Context, in issueInput) (keys.CreateOutput, error) {
		return o.Issue(ctx, in.User, in.Key)
	})
	handle(mux, "keys", func(ctx context.Context, in listInput) (keys.ListOutput, error) {
		return o.Keys(ctx, in.User, in.List)
	})
	handle(mux, "devices", func(ctx context.Context, in userInput) ([]keys.View, error) {
		return o.Devices(ctx, in.User)
	})
	handle(mux, "revoke", func(ctx context.Context, in revokeInput) (keys.View, error) {
		return o.Revoke(ctx, in.User, in.ID)
	})
	handle(mux, "link", func(ctx context.Context, in linkInput) (keys.Link, error) {
		return o.Link(ctx, in.User, in.Console)
	})
	handle(mux, "passkeys", func(ctx context.Context, in userInput) ([]passkeys.View, error) {
		return o.Passkeys(ctx, in.User)
	})
	handle(mux, "discard-passkey", func(ctx context.Context, in revokeInput) (passkeys.View, error) {
		return o.DiscardPasskey(ctx, in.User, in.ID)
	})
	handle(mux, "import-team", func(ctx context.Context, in importInput) (nothing, error) {
		a := team.Archive{Config: in.Team.Config, Inboxes: in.Team.Inboxes, Tasks: in.Team.Tasks}
		return nothing{}, o.ImportTeam(ctx, in.User, in.Program, a)
	})
	handle(mux, "export-team", func(ctx context.Context, in teamInput) (archive, error) {
		a, err := o.ExportTeam(ctx, in.User, in.Name)
		return archive{a.Config, a.Inboxes, a.Tasks}, err
	})
	handle(mux, "erase", func(ctx context.Context, in userInput) (int, error) { return o.Erase(ctx, in.User) })
	handle(mux, "examine", func(ctx context.Context, in examineInput) (doctor.Result, error) {
		return o.Examine(ctx, in.Check)
	})
	mux.HandleFunc("POST /export", func(w http.ResponseWriter, r *http.Request) { export(o, w, r) })
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) { backup(o, dir, w, r) })
	mux.HandleFunc("POST /restore", func(w http.ResponseWriter, r *http.Request) { restore(o, dir, w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fault.New(fault.NotFound, "the server that runs does not know %s: it is of another version; stop it first",
			strings.TrimPrefix(r.URL.Path, "/")))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			refuse(w, fault.New(fault.Unauthenticated, "this socket is for the commands of the owner of the data directory"))
			return
		}
		tell(strings.TrimPrefix(r.URL.Path, "/"))
		mux.ServeHTTP(w, r)
	})
}

// handle serves a call: its input and output are JSON.
func handle[In, Out any](mux *http.ServeMux, name string, call func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(w, fault.New(fault.Invalid, "the input cannot be read: %v", err))
			return
		}
		out, err := call(r.Context(), in)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, out)
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the command that asked has ended
}

// refuse answers with an error as the command would print it: its reader may know everything.
func refuse(w http.ResponseWriter, err error) {
	kind := fault.Of(err)
	answer(w, kind.HTTP(), failure{kind.Code(), err.Error()})
}

func export(o Operator, w http.ResponseWriter, r *http.Request) {
	var in userInput
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, fault.New(fault.Invalid, "the input cannot be read: %v", err))
		return
	}
	w.Header().Set("Trailer", countTrailer+", "+errorTrailer)
	n, err := o.Export(r.Context(), in.User, w)
	w.Header().Set(countTrailer, strconv.Itoa(n))
	if err != nil {
		w.Header().Set(errorTrailer, strconv.Quote(fault.Of(err).Code()+" "+err.Error()))
	}
}

// errorOf returns the error of a refused call.
func errorOf(code, message string) error {
	kind, ok := fault.ParseCode(code)
	if !ok {
		return errors.New(message)
	}
	return fault.New(kind, "%s", message)
}

// trailerError returns the error in the trailer of an export, nil if there is none.
func trailerError(text string) error {
	if text == "" {
		return nil
	}
	said, err := strconv.Unquote(text)
	if err != nil {
		return fmt.Errorf("the export failed: %s", text)
	}
	code, message, _ := strings.Cut(said, " ")
	return errorOf(code, message)
}
