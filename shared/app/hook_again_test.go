package app

import (
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/relay"
)

func TestAMessageThatWantsAnAcknowledgementComesAgainWithAMarkUntilItHasOne(t *testing.T) {
	for _, kind := range []string{"QUERY", "DIRECTIVE"} {
		t.Run(kind, func(t *testing.T) {
			eachStore(t, func(t *testing.T, o *fixture) {
				id := o.send(o.start(alpha, "one"), "a request", kind)
				read := wire.HookInput{MaxBytes: 1024}
				first := o.hook(alpha, read)
				if texts(first.Mail) != "a request" {
					t.Fatalf("first %+v", first.Mail)
				}
				o.hook(alpha, wire.HookInput{Receipt: first.Receipt})
				if out := o.hook(alpha, read); len(out.Mail) != 0 {
					t.Errorf("at once after the receipt %+v", out.Mail)
				}
				o.Pass(relay.Redeliver)
				second := o.hook(alpha, read)
				if texts(second.Mail) != "a request again" {
					t.Errorf("delivered before and not acknowledged: %+v", second.Mail)
				}
				o.hook(alpha, wire.HookInput{Receipt: second.Receipt})
				acked, err := o.Relay.Ack(t.Context(), alpha, relay.AckInput{MessageIDs: []string{id}})
				domaintest.Must(acked, err)(t)
				o.Pass(relay.Redeliver)
				if out := o.hook(alpha, read); len(out.Mail) != 0 {
					t.Errorf("after the acknowledgement %+v", out.Mail)
				}
			})
		})
	}
}
