package signal

import (
	"time"

	"parley.internal/shared/op"
)

// DeviceInput is the input of register_device.
type DeviceInput struct {
	op.Idempotency
	Token        string        `json:"token,omitempty" allow:"max=1000" jsonschema:"android, ios, web: the registration token that Firebase Cloud Messaging gave the app; ntfy: the access token of its server"`
	Platform     string        `json:"platform" allow:"enum=android|ios|web|webpush|ntfy|webhook"`
	Name         string        `json:"name,omitempty" allow:"max=100" jsonschema:"what you call it"`
	Subscription *Subscription `json:"subscription,omitempty" jsonschema:"webpush: what PushManager.subscribe gave the page"`
	URL          string        `json:"url,omitempty" allow:"max=1000" jsonschema:"ntfy: the URL of the topic; webhook: the URL to call"`
	Secret       string        `json:"secret,omitempty" allow:"max=200" jsonschema:"webhook: whsec_ and 24 to 64 bytes in base64, which sign the calls"`
	Reply        string        `json:"reply,omitempty" allow:"max=1000" jsonschema:"ntfy: the URL of the topic to which buttons publish answers, on the same server"`
	Private      bool          `json:"private,omitempty" jsonschema:"webpush, ntfy, webhook: send the title and the page only"`
}

// Subscription is a browser's subscription to Web Push.
type Subscription struct {
	Endpoint string           `json:"endpoint" allow:"nonempty,max=1000"`
	Keys     SubscriptionKeys `json:"keys"`
}

// SubscriptionKeys are the keys of a subscription, in base64url.
type SubscriptionKeys struct {
	P256dh string `json:"p256dh" allow:"nonempty,max=200"`
	Auth   string `json:"auth" allow:"nonempty,max=50"`
}

// DeviceIDInput is the input of delete_device and test_device.
type DeviceIDInput struct {
	DeviceID string `json:"deviceId" allow:"nonempty,max=100,pattern=id"`
}

// DeviceView is a device without its token and its address.
type DeviceView struct {
	DeviceID     string    `json:"deviceId"`
	Platform     string    `json:"platform"`
	Name         string    `json:"name,omitempty"`
	RegisteredAt time.Time `json:"registeredAt"`
}

func deviceView(id string, d Device) DeviceView {
	return DeviceView{DeviceID: id, Platform: d.Platform, Name: d.Name, RegisteredAt: d.RegisteredAt}
}

// DevicesInput is the input of list_devices.
type DevicesInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// DevicesOutput is the output of list_devices.
type DevicesOutput struct {
	Devices    []DeviceView `json:"devices"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// SettingsQuery is the input of get_notification_settings.
type SettingsQuery struct{}

// SettingsInput is the input of set_notification_settings.
type SettingsInput struct {
	Off            []About     `json:"off,omitempty" allow:"max=5,enum=questions|alerts|tasks|dreams|changes" jsonschema:"what is not to ring"`
	On             []About     `json:"on,omitempty" allow:"max=1,enum=completions" jsonschema:"what rings only on request: completions are tasks that are done and sessions that are complete"`
	Quiet          *QuietHours `json:"quietHours,omitempty" jsonschema:"when alerts of the kinds info and success do not ring"`
	PerHour        *int        `json:"perHour,omitempty" allow:"min=0,max=100" jsonschema:"how many pushes an hour may have; 100 where left out"`
	ChangesPerHour *int        `json:"changesPerHour,omitempty" allow:"min=0,max=20" jsonschema:"how many of them may be about what is blocked or failed; 20 where left out"`
}

// SettingsView is the representation of the notification settings in answers.
type SettingsView struct {
	Off            []About     `json:"off"`
	On             []About     `json:"on"`
	Quiet          *QuietHours `json:"quietHours,omitempty"`
	PerHour        int         `json:"perHour"`
	ChangesPerHour int         `json:"changesPerHour"`
	UpdatedAt      time.Time   `json:"updatedAt,omitzero"`
	// VAPIDPublicKey is no setting: browsers subscribe with it.
	VAPIDPublicKey string `json:"vapidPublicKey,omitempty" jsonschema:"the applicationServerKey with which a page subscribes to Web Push"`
}

func (svc *Service) settingsView(s Settings) SettingsView {
	v := SettingsView{Off: s.Off, On: s.On, Quiet: s.Quiet, UpdatedAt: s.UpdatedAt}
	if v.Off == nil {
		v.Off = []About{}
	}
	if v.On == nil {
		v.On = []About{}
	}
	v.PerHour, v.ChangesPerHour = s.caps()
	if svc.Direct != nil {
		v.VAPIDPublicKey = svc.Direct.PublicKey()
	}
	return v
}

// deviceOperations returns the operations of devices and notification settings.
func (s *Service) deviceOperations() []op.Op {
	const set = "signal"
	return []op.Op{
		op.New(op.Spec{Name: "register_device", Title: "Register a device", Toolset: set, Route: "POST /v1/devices",
			Effect: op.Write, For: op.Humans, RESTOnly: true, Creates: true, Cases: registerCases,
			Doc: "Have a phone, a browser, a topic of ntfy or a webhook of yours rung when an agent asks or alerts you. " +
				"Registering the same token or address again replaces it."}, s.Register),
		op.New(op.Spec{Name: "list_devices", Title: "List devices", Toolset: set, Route: "GET /v1/devices",
			Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: devicesCases,
			Doc: "The devices that are rung, without their tokens and addresses."}, s.Devices),
		op.New(op.Spec{Name: "delete_device", Title: "Delete a device", Toolset: set,
			Route: "DELETE /v1/devices/{deviceId}", Effect: op.Destroy, For: op.Humans, RESTOnly: true,
			Cases: unregisterCases,
			Doc:   "Ring a device no more."}, s.Unregister),
		op.New(op.Spec{Name: "test_device", Title: "Test a device", Toolset: set,
			Route: "POST /v1/devices/{deviceId}/test", Effect: op.Write, For: op.Humans, RESTOnly: true,
			Cases: testCases,
			Doc: "Send one push to one device now, in quiet hours too, and learn what its service answered: sent, failed, " +
				"refused or removed, and why. At most 5 a minute."}, s.Test),
		op.New(op.Spec{Name: "get_notification_settings", Title: "Read the settings of pushes", Toolset: set,
			Route: "GET /v1/settings/notifications", Effect: op.Read, For: op.Humans, RESTOnly: true,
			Cases: settingsCases,
			Doc:   "What rings, how often in an hour, the quiet hours, and the public key with which browsers subscribe."}, s.Settings),
		op.New(op.Spec{Name: "set_notification_settings", Title: "Set what rings", Toolset: set,
			Route: "PUT /v1/settings/notifications", Effect: op.Write, For: op.Humans, RESTOnly: true, Cases: setCases,
			Doc: "Put settings in place of those there are: what is off, the quiet hours, and how many pushes an " +
				"hour may have. Nothing is hidden from the lists."}, s.Set),
	}
}
