package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"parley.internal/shared/op"
	"parley.internal/shared/signal"
)

// token has an id that was made by hand: echo -n a-token | sha256sum | cut -c 1-32
const (
	token   = "a-token"
	tokenID = "1f6076e3a47ba1ded08025ffe06e57af"
)

func device() fields {
	return fields{
		"token":        token,
		"platform":     "android",
		"name":         "my phone",
		"registeredAt": firestore.ServerTimestamp,
		"changedAt":    firestore.ServerTimestamp,
	}
}

func (d *fixture) devices() []signal.DeviceView {
	d.t.Helper()
	out, err := d.Devices(d.t.Context(), d.person, op.Fill(signal.DevicesInput{}))
	if err != nil {
		d.t.Fatal(err)
	}
	return out.Devices
}

// idOf returns the id that belongs to the token of a device, so that only the token can be wrong.
func idOf(token any) string {
	sum := sha256.Sum256(fmt.Append(nil, token))
	return hex.EncodeToString(sum[:16])
}

func registers(t *testing.T, p *project) {
	d := p.newFixture(t)
	mine := d.doc("devices/" + tokenID)
	_, err := mine.Create(t.Context(), device())
	allowed(t, "registering", err)
	all := d.devices()
	if len(all) != 1 || all[0].DeviceID != tokenID || all[0].Platform != "android" || all[0].Name != "my phone" ||
		time.Since(all[0].RegisteredAt).Abs() > time.Minute {
		t.Errorf("the hub lists %+v", all)
	}
	for name, changes := range map[string]fields{
		"as it is": nil, "an iPhone": {"platform": "ios"}, "a browser": {"platform": "web"},
		"without a name": {"name": drop}, "with the longest name": {"name": strings.Repeat("é", 100)}} {
		_, err = mine.Set(t.Context(), with(device(), changes))
		allowed(t, name, err)
	}
	longest := d.doc("devices/" + idOf(strings.Repeat("x", 1000)))
	_, err = longest.Create(t.Context(), with(device(), fields{"token": strings.Repeat("x", 1000)}))
	allowed(t, "with the longest token", err)
	_, err = longest.Delete(t.Context())
	allowed(t, "removing it", err)
	out, err := d.Register(t.Context(), d.person, signal.DeviceInput{
		Token:    token,
		Platform: "android",
		Name:     "by the hub",
	})
	if all := d.devices(); err != nil || out.DeviceID != tokenID || len(all) != 1 || all[0].Name != "by the hub" {
		t.Errorf("registered by the hub too: %+v, %v; listed are %+v", out, err, all)
	}
	for name, w := range map[string]signIn{
		"another user":      bob,
		"nobody":            nobody,
		"an anonymous user": {uid: d.user.uid, provider: "anonymous"},
	} {
		theirs := p.as(t, w).Doc(mine.Path[strings.Index(mine.Path, "users/"):])
		_, err = theirs.Set(t.Context(), device())
		refused(t, name+" registering", err)
		_, err = theirs.Delete(t.Context())
		refused(t, name+" removing", err)
	}
	_, err = mine.Delete(t.Context())
	allowed(t, "removing", err)
	if len(d.devices()) != 0 {
		t.Errorf("the hub lists %+v", d.devices())
	}
}

func brokenDevices(t *testing.T, p *project) {
	d := p.newFixture(t)
	there := d.doc("devices/" + tokenID)
	_, err := d.Register(t.Context(), d.person, signal.DeviceInput{Token: token, Platform: "web", Name: "before"})
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]fields{
		"without a token":                {"token": drop},
		"with an empty token":            {"token": ""},
		"with a token too long":          {"token": strings.Repeat("x", 1001)},
		"with a number for a token":      {"token": 7},
		"without a platform":             {"platform": drop},
		"with an unknown platform":       {"platform": "fridge"},
		"with a number for a platform":   {"platform": 1},
		"with a name too long":           {"name": strings.Repeat("x", 101)},
		"with a list for a name":         {"name": []string{"x"}},
		"without its time":               {"registeredAt": drop},
		"at the app's time":              {"registeredAt": clock()},
		"changed at the app's time":      {"changedAt": clock()},
		"without the time of its change": {"changedAt": drop},
		"with more":                      {"badge": 1},
	} {
		_, err := there.Set(t.Context(), with(device(), broken))
		refused(t, name, err)
		fresh := with(with(device(), fields{"token": "a-new-token"}), broken)
		_, err = d.doc("devices/"+idOf(fresh["token"])).Create(t.Context(), fresh)
		refused(t, name+", as a new one", err)
	}
	_, err = d.doc("devices/"+strings.ToUpper(tokenID)).Create(t.Context(), device())
	refused(t, "under an id that is not the token's", err)
	_, err = there.Set(t.Context(), with(device(), fields{"token": "another"}))
	refused(t, "with another's token", err)
	_, err = there.Update(t.Context(), []firestore.Update{{Path: "name", Value: "a new one"}})
	refused(t, "a new name alone", err)
	if all := d.devices(); len(all) != 1 || all[0].Name != "before" || all[0].DeviceID != tokenID {
		t.Errorf("the hub lists %+v", all)
	}
}
