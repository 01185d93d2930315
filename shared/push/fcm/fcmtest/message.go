package fcmtest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Message is one push in a request.
type Message struct {
	// Project is the project ID in the request's path.
	Project string
	// ValidateOnly marks a dry run, which notifies no device.
	ValidateOnly           bool
	Token, Title, Body     string
	Data                   map[string]string
	Android, APNS, Webpush map[string]any
}

// limit is FCM's limit for the message of one platform, in bytes.
const limit = 4096

// duration is the form of a TTL.
var duration = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,9})?s$`)

func decode(project string, body []byte) (Message, error) {
	var in struct {
		ValidateOnly bool `json:"validate_only"`
		Message      struct {
			Token        string `json:"token"`
			Notification struct{ Title, Body string }
			Data         map[string]string `json:"data"`
			Android      map[string]any    `json:"android"`
			APNS         map[string]any    `json:"apns"`
			Webpush      map[string]any    `json:"webpush"`
		} `json:"message"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Message{}, err
	}
	m := in.Message
	return Message{Project: project, ValidateOnly: in.ValidateOnly, Token: m.Token, Title: m.Notification.Title,
		Body: m.Notification.Body,
		Data: m.Data, Android: m.Android, APNS: m.APNS, Webpush: m.Webpush}, nil
}

// Sizes returns the sizes of the messages for android, apns and webpush, in bytes: notification and data as JSON.
func (m Message) Sizes() map[string]int {
	text := length(map[string]string{"title": m.Title, "body": m.Body})
	data := func(platform map[string]any) int {
		if own, ok := platform["data"]; ok {
			return length(own)
		}
		return length(m.Data)
	}
	return map[string]int{
		"android": text + length(m.Android["notification"]) + data(m.Android),
		"apns":    length(m.APNS["payload"]) + length(m.Data),
		"webpush": length(m.Webpush["notification"]) + length(m.Webpush["fcm_options"]) + data(m.Webpush),
	}
}

func length(part any) int {
	if part == nil {
		return 0
	}
	b, err := json.Marshal(part)
	if err != nil {
		return limit + 1
	}
	return len(b)
}

// problem returns FCM's complaint about the message, and the field at fault; both are empty for a valid message.
func (m Message) problem() (field, message string) {
	if m.Token == "" {
		return "message.token", "Recipient of the message is not set."
	}
	for key := range m.Data {
		if key == "from" || key == "message_type" || strings.HasPrefix(key, "google") || strings.HasPrefix(key, "gcm") {
			return "message.data", "Invalid data payload key: " + key
		}
	}
	if data, ok := m.Android["data"].(map[string]any); ok {
		for key, value := range data {
			if _, isText := value.(string); !isText {
				return "message.android.data", fmt.Sprintf("Invalid value at %s (TYPE_STRING)", key)
			}
		}
	}
	if ttl, ok := m.Android["ttl"]; ok && !duration.MatchString(fmt.Sprint(ttl)) {
		return "message.android.ttl", "Illegal duration format; duration must end with 's'"
	}
	if options, ok := m.Webpush["fcm_options"].(map[string]any); ok {
		if link, err := url.Parse(fmt.Sprint(options["link"])); err != nil || link.Scheme != "https" {
			return "message.webpush.fcm_options.link", "must be an HTTPS URL"
		}
	}
	for _, platform := range []string{"android", "apns", "webpush"} {
		if size := m.Sizes()[platform]; size > limit {
			return "", fmt.Sprintf("%s message is too big: %d bytes", platform, size)
		}
	}
	return "", ""
}
