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

// callTimeout is the default of Options.Timeout.
const callTimeout = 30 * time.Second

// Options configure a [Sender].
type Options struct {
	// Project is the ID of the Firebase project that the apps are registered in.
	Project string
	// Endpoint is the base URL of a stand-in for FCM, such as http://127.0.0.1:9/v1, which is called without
	// credentials. Empty means FCM itself, with the application default credentials.
	Endpoint string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Timeout bounds one call of Send; zero means 30 seconds. Within that time a request is tried five times over about
	// 7 seconds if the network fails or FCM answers 503, or at the intervals of FCM's Retry-After.
	Timeout time.Duration
	// Log receives the reasons for failed pushes, without tokens; nil discards them.
	Log *slog.Logger
}

// Sender delivers pushes through FCM. It is safe for concurrent use; each call has at most 50 requests in flight.
type Sender struct {
	client  *messaging.Client
	project string
	now     func() time.Time
	timeout time.Duration
	log     *slog.Logger
}

var _ push.Sender = (*Sender)(nil)

// New returns a sender for the project. Without a project or without credentials the error is a Precondition fault that
// names the remedy. It does not call FCM.
func New(ctx context.Context, o Options) (*Sender, error) {
	if o.Project == "" {
		return nil, fault.New(fault.Precondition, "name the Firebase project that the apps are registered in")
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
				"or set GOOGLE_APPLICATION_CREDENTIALS to the file of one, "+
				"or run gcloud auth application-default login",
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

// Send implements [push.Sender]. The result is Dead for a token that is empty or malformed, that FCM no longer knows,
// or that belongs to another project; it is Failed for any other refusal. If the answers are not about a device, Send
// returns a fault:
//
//   - Unavailable if FCM answered for none of the tokens, also because ctx ended;
//   - Forbidden if FCM does not let this server send pushes, and Precondition if it does not know the project or if all
//     of several tokens belong to another project; the message names the remedy;
//   - Invalid if FCM refuses the message, if there are more than [push.MaxTokens] tokens, or if the key is outside of
//     the limits of [push.Notice].
func (s *Sender) Send(ctx context.Context, n push.Notice, tokens []string) ([]push.Result, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	if len(tokens) > push.MaxTokens {
		return nil, fault.New(fault.Invalid, "a call takes at most %[2]d tokens, not %[1]d: split them", len(tokens),
			push.MaxTokens)
	}
	if !goodKey(n.Key) {
		return nil, fault.New(fault.Invalid, "the key of a push must be at most %d letters, digits, - and _, not %q",
			maxKey, n.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	results := make([]push.Result, len(tokens))
	var at []int
	m := message(n, s.now())
	for i, token := range tokens {
		if token == "" {
			// The client refuses a whole call that has an empty token.
			results[i] = push.Dead
			continue
		}
		at, m.Tokens = append(at, i), append(m.Tokens, token)
	}
	if len(at) == 0 {
		return results, nil
	}
	verdicts, err := s.send(ctx, m)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		results[at[i]] = v.result
	}
	return results, nil
}

// send sends the message to each of its tokens and returns the verdict on each.
func (s *Sender) send(ctx context.Context, m *messaging.MulticastMessage) ([]verdict, error) {
	answers, err := s.client.SendEachForMulticast(ctx, m)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the message cannot be sent to Firebase Cloud Messaging")
	}
	verdicts := make([]verdict, len(m.Tokens))
	var suspects []int
	for i, a := range answers.Responses {
		if verdicts[i] = s.judge(a.Error); verdicts[i].suspect {
			suspects = append(suspects, i)
		}
	}
	s.probe(ctx, verdicts, m.Tokens, suspects)
	if allForeign(verdicts) {
		return nil, fault.New(fault.Precondition,
			"all of the %d devices belong to another Firebase project than %q: name the one that the apps are "+
				"registered in", len(verdicts), s.project)
	}
	if err := callFault(verdicts); err != nil {
		return nil, err
	}
	s.logFailures(ctx, verdicts)
	return verdicts, nil
}

// probe repeats the call for each suspect token as a dry run of an empty message. Tokens that FCM refuses again become
// dead.
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

// logFailures logs the number of failed pushes, FCM's error codes, and one of its messages.
func (s *Sender) logFailures(ctx context.Context, verdicts []verdict) {
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
