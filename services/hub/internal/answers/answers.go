package answers

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/fault"
	"parley.internal/shared/push"
)

// Site serves the route.
type Site struct {
	// Take records an answer. It returns a fault for an invalid token.
	Take func(r *http.Request, in push.Answer) error
	// Now is the clock for the metadata of answers; nil means [time.Now].
	Now func() time.Time
}

// Mount adds the route to a router.
func (s *Site) Mount(e *echo.Echo) { e.POST(push.AnswerPath, s.take) }

// maxBody is the number of bytes that are read of a request. Nobody has signed in yet, so it is little: the longest text
// in JSON, and the token.
const maxBody = 32 << 10

// taken is the answer to a valid token, in the envelope of all REST answers.
type taken struct {
	Success bool      `json:"success"`
	Data    struct{}  `json:"data"`
	Meta    rest.Meta `json:"meta"`
}

func (s *Site) take(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	var in push.Answer
	if err := json.NewDecoder(io.LimitReader(c.Request().Body, maxBody)).Decode(&in); err != nil {
		return fault.New(fault.Invalid, "the body must be a JSON object with the token of a notification, and option or text")
	}
	if in.Token == "" {
		return fault.Field("token", "is required: the notification has it")
	}
	if err := s.Take(c.Request(), in); err != nil {
		return err
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	meta := rest.Meta{Timestamp: now().UTC(), RequestID: c.Response().Header().Get(echo.HeaderXRequestID)}
	return c.JSON(http.StatusOK, taken{Success: true, Meta: meta})
}
