package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	projects "google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
)

const (
	fcmAPI   = "fcm.googleapis.com"
	mayRing  = "cloudmessaging.messages.create"
	ringRole = "roles/firebasecloudmessaging.admin"
)

// ringRoles are the roles of Google's that have mayRing.
var ringRoles = []string{ringRole, "roles/firebase.admin", "roles/firebase.sdkAdminServiceAgent", "roles/editor",
	"roles/owner"}

// push looks at whether devices can be rung: whether Firebase Cloud Messaging is there,
// and whether the account of the functions that ring may use it.
func (c *Cloud) push(ctx context.Context, s *session) Result {
	var found []Result
	service, err := serviceusage.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return fail(err.Error(), "")
	}
	api, err := service.Services.Get("projects/" + c.Project + "/services/" + fcmAPI).Context(ctx).Do()
	switch {
	case err != nil:
		found = append(found,
			c.refusal(s, err, right{"serviceusage.services.get", "roles/serviceusage.serviceUsageViewer"}))
	case api.State != "ENABLED":
		found = append(found,
			fail(fcmAPI+" is not enabled in "+c.Project,
				fmt.Sprintf("gcloud services enable %s --project %s", fcmAPI, c.Project)))
	}
	ringer := c.Name + "-triggers@" + c.Project + ".iam.gserviceaccount.com"
	return sum(ok("%s is enabled, and %s may ring devices", fcmAPI, ringer), append(found, c.ringer(ctx, s, ringer)...))
}

// ringer looks at what the account that rings is given. Who may not see that is told what
// there is to see of their own account.
func (c *Cloud) ringer(ctx context.Context, s *session, ringer string) []Result {
	service, err := projects.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return []Result{fail(err.Error(), "")}
	}
	give := fmt.Sprintf("%s, or gcloud projects add-iam-policy-binding %s --member serviceAccount:%s --role %s",
		c.again(), c.Project, ringer, ringRole)
	no := fail(ringer+" may not ring devices", give)
	if s.account == ringer {
		own, err := service.Projects.TestIamPermissions("projects/"+c.Project,
			&projects.TestIamPermissionsRequest{Permissions: []string{mayRing}}).Context(ctx).Do()
		switch {
		case err != nil:
			return []Result{c.refusal(s, err, right{"resourcemanager.projects.get", "roles/browser"})}
		case !slices.Contains(own.Permissions, mayRing):
			return []Result{no}
		}
		return nil
	}
	policy, err := service.Projects.GetIamPolicy("projects/"+c.Project, &projects.GetIamPolicyRequest{
		Options: &projects.GetPolicyOptions{RequestedPolicyVersion: 3}}).Context(ctx).Do()
	if err != nil {
		return []Result{c.refusal(s, err, right{"resourcemanager.projects.getIamPolicy", "roles/browser"})}
	}
	var unknown []string
	for _, b := range policy.Bindings {
		if !slices.Contains(b.Members, "serviceAccount:"+ringer) {
			continue
		}
		known := slices.Contains(ringRoles, b.Role)
		if known && b.Condition == nil {
			return nil
		}
		if known || !strings.HasPrefix(b.Role, "roles/") {
			unknown = append(unknown, b.Role)
		}
	}
	if len(unknown) > 0 {
		return []Result{
			warn(fmt.Sprintf("%s may or may not ring devices: it has %s", ringer, few(unknown)),
				"see that it has "+mayRing+" by that, at all times")}
	}
	return []Result{no}
}
