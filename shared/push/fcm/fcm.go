package fcm

import (
	"context"
	"log/slog"
	"strings"
	"time"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/messaging"
	"google.golang.org/api/option"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
)

// callTimeout bounds a call that nobody else bounds.
const callTimeout = 30 * time.Second

// Options are what a [Sender] is made of.
type Options struct {
	// Project is the id of the Firebase project whose devices are rung.
	Project string
	// Endpoint is the base URL of a stand-in for FCM, as http://127.0.0.1:9/v1; it is called without credentials. Empty
	// is FCM itself, with the application default credentials.
	Endpoint string
	// Now is the clock; nil is the machine's.
	Now func() time.Time
	// Timeout bounds one call of Send; zero is 30 s. Within it a request that met a 503 or no network at all is tried
	// five times over about 7 s, or as far apart as FCM's Retry-After says.
	Timeout time.Duration
	// Log is told why devices were not reached, without their tokens; nil tells nobody.
	Log *slog.Logger
}

// Sender rings devices through FCM. It may be used by many at once; a call has at most 50 requests under way.
type Sender struct {
	client  *messaging.Client
	project string
	now     func() time.Time
	timeout time.Duration
	log     *slog.Logger
}

var _ push.Sender = (*Sender)(nil)

// New is a sender for the project. Without credentials it is a Precondition fault that says how to give them.
func New(ctx context.Context, o Options) (*Sender, error) {
	if o.Project == "" {
		return nil, fault.New(fault.Precondition, "name the Firebase project whose devices are rung")
	}
	var opts []option.ClientOption
	if o.Endpoint != "" {
		opts = append(opts, option.WithEndpoint(strings.TrimSuffix(o.Endpoint, "/")), option.WithoutAuthentication())
	}
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: o.Project}, opts...)
	if err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the Firebase project %q cannot be used", o.Project)
	}
	client, err := app.Messaging(ctx)
	if err != nil {
		return nil, fault.Wrap(fault.Precondition, err,
			"no credentials for Firebase Cloud Messaging: run as a service account of the project %q, "+
				"or set GOOGLE_APPLICATION_CREDENTIALS to the file of one, or run gcloud auth application-default login",
			o.Project)
	}
	s := &Sender{client: client, project: o.Project, now: o.Now, timeout: o.Timeout, log: o.Log}
	if s.now == nil {
		s.now = time.Now
	}
	if s.timeout == 0 {
		s.timeout = callTimeout
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Send implements [push.Sender]. A token that FCM does not know any more, that belongs to another project or that is no
// token is Dead; whatever else kept FCM from taking the push is Failed. What comes of no device is a fault:
//
//   - Unavailable where FCM answered for none of them, the context's end included;
//   - Forbidden where it lets this server ring nobody, and Precondition where it does
//     not know the project or all of several devices are another's: the message says
//     what to enable, grant or name;
//   - Invalid where it refuses the message, and for more than [push.MaxTokens]
//     tokens or a key outside of what [push.Notice] allows.
func (s *Sender) Send(ctx context.Context, n push.Notice, tokens []string) ([]push.Result, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	if len(tokens) > push.MaxTokens {
		return nil, fault.New(fault.Invalid, "%d devices are more than the %d of one call: split them", len(tokens),
			push.MaxTokens)
	}
	if !goodKey(n.Key) {
		return nil, fault.New(fault.Invalid, "the key of a push is at most %d letters, digits, - and _; this is %q",
			maxKey, n.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	results := make([]push.Result, len(tokens))
	var at []int
	m := message(n, s.now())
	for i, token := range tokens {
		if token == "" {
			// It rings nobody, and the client would refuse the others with it.
			results[i] = push.Dead
			continue
		}
		at, m.Tokens = append(at, i), append(m.Tokens, token)
	}
	if len(at) == 0 {
		return results, nil
	}
	verdicts, err := s.ring(ctx, m)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		results[at[i]] = v.result
	}
	return results, nil
}

// ring sends the message to each of its tokens and judges the answers.
func (s *Sender) ring(ctx context.Context, m *messaging.MulticastMessage) ([]verdict, error) {
	answers, err := s.client.SendEachForMulticast(ctx, m)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the push is not one that Firebase Cloud Messaging takes")
	}
	verdicts := make([]verdict, len(m.Tokens))
	var suspects []int
	for i, a := range answers.Responses {
		if verdicts[i] = s.judge(a.Error); verdicts[i].suspect {
			suspects = append(suspects, i)
		}
	}
	s.probe(ctx, verdicts, m.Tokens, suspects)
	if strangers(verdicts) {
		return nil, fault.New(fault.Precondition,
			"all of %d devices registered with another Firebase project than %q: name the one that the apps are "+
				"registered in", len(verdicts), s.project)
	}
	if err := whole(verdicts); err != nil {
		return nil, err
	}
	s.tell(ctx, verdicts)
	return verdicts, nil
}

// probe asks of each suspect whether FCM refuses its token even with nothing to say, and calls those dead.
func (s *Sender) probe(ctx context.Context, verdicts []verdict, tokens []string, suspects []int) {
	if len(suspects) == 0 {
		return
	}
	empty := make([]*messaging.Message, len(suspects))
	for i, at := range suspects {
		empty[i] = &messaging.Message{Token: tokens[at]}
	}
	answers, err := s.client.SendEachDryRun(ctx, empty)
	if err != nil {
		return
	}
	for i, a := range answers.Responses {
		if again := s.judge(a.Error); again.suspect || again.result == push.Dead {
			verdicts[suspects[i]] = verdict{result: push.Dead}
		}
	}
}

// tell logs how many devices were not reached, and what FCM said of them.
func (s *Sender) tell(ctx context.Context, verdicts []verdict) {
	said, failed, example := map[string]int{}, 0, ""
	for _, v := range verdicts {
		if v.result == push.Failed {
			failed++
			said[v.code]++
			if example == "" {
				example = v.said
			}
		}
	}
	if failed > 0 {
		s.log.WarnContext(ctx, "push: devices not reached", "failed", failed, "devices", len(verdicts), "codes", said,
			"said", example)
	}
}
