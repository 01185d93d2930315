package relay

import (
	"context"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

// loss is a connection to Firestore that withholds the answer of the next commit after lose.
type loss struct {
	mu    sync.Mutex
	lose  func(send func() error)
	calls []string // since the lost commit
}

func (l *loss) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	l.mu.Lock()
	lose := l.lose
	if path.Base(method) == "Commit" && lose != nil {
		l.lose, l.calls = nil, nil
		l.mu.Unlock()
		lose(func() error {
			return invoke(context.WithoutCancel(ctx), method, req, &firestorepb.CommitResponse{}, cc, opts...)
		})
		return status.Error(codes.Unavailable, "the answer is lost")
	}
	l.mu.Unlock()
	err := invoke(ctx, method, req, reply, cc, opts...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, path.Base(method))
	return err
}

// A reader whose commit got no answer gets no messages, so the next one must, whatever became of the commit.
func TestMailOfACommitWithoutAnAnswerIsNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ confirm, arrives, late bool }{
		"never sent":                            {},
		"made":                                  {arrives: true},
		"made, with a receipt":                  {arrives: true, confirm: true},
		"sent after all others":                 {late: true},
		"sent after all others, with a receipt": {late: true, confirm: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &loss{}
			db, _ := domaintest.RPCs(t, schema(), grpc.WithChainUnaryInterceptor(l.intercept))
			m := over(t, db)
			m.send(SendInput{Message: "one"})
			var send func() error
			l.mu.Lock()
			l.lose = func(commit func() error) {
				if c.arrives {
					domaintest.Check(t, commit())
				}
				send = commit
			}
			l.mu.Unlock()
			out, err := m.Get(t.Context(), beta, GetInput{Confirm: c.confirm})
			if !fault.Is(err, fault.OutcomeUnknown) {
				t.Fatalf("%+v, %v", out, err)
			}
			want := []string{"Commit"} // makes the lost one fail from then on
			if c.arrives {
				want = append(want, "Commit") // takes its marks back
			}
			l.mu.Lock()
			if !slices.Equal(l.calls, want) {
				t.Errorf("the calls after the lost one are %v, want %v", l.calls, want)
			}
			l.mu.Unlock()
			if c.late {
				if err := send(); err == nil {
					t.Error("a commit is made after its marks were taken back")
				}
			}
			if got := m.get(beta, GetInput{}); got != "one" {
				t.Errorf("the next reader gets %q", got)
			}
			if got := m.get(beta, GetInput{}); got != "" {
				t.Errorf("and the one after it %q", got)
			}
		})
	}
}
