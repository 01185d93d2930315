//go:build !laptop

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
	fcmAPI         = "fcm.googleapis.com"
	pushPermission = "cloudmessaging.messages.create"
	pushRole       = "roles/firebasecloudmessaging.admin"
)

// pushRoles are the predefined roles with pushPermission.
var pushRoles = []string{pushRole, "roles/firebase.admin", "roles/firebase.sdkAdminServiceAgent", "roles/editor",
	"roles/owner"}

// push checks that Firebase Cloud Messaging is enabled, and that the account of the triggers may send push messages.
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
	sender := c.Name + "-triggers@" + c.Project + ".iam.gserviceaccount.com"
	return sum(ok("%s is enabled, and %s may send push messages", fcmAPI, sender),
		append(found, c.sender(ctx, s, sender)...))
}

// sender returns the findings about the roles of the sending account. That account may test its own permissions; any
// other account needs the right to read the policy of the project.
func (c *Cloud) sender(ctx context.Context, s *session, sender string) []Result {
	service, err := projects.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return []Result{fail(err.Error(), "")}
	}
	give := fmt.Sprintf("%s, or gcloud projects add-iam-policy-binding %s --member serviceAccount:%s --role %s",
		c.again(), c.Project, sender, pushRole)
	no := fail(sender+" may not send push messages", give)
	if s.account == sender {
		own, err := service.Projects.TestIamPermissions("projects/"+c.Project,
			&projects.TestIamPermissionsRequest{Permissions: []string{pushPermission}}).Context(ctx).Do()
		switch {
		case err != nil:
			return []Result{c.refusal(s, err, right{"resourcemanager.projects.get", "roles/browser"})}
		case !slices.Contains(own.Permissions, pushPermission):
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
		if !slices.Contains(b.Members, "serviceAccount:"+sender) {
			continue
		}
		known := slices.Contains(pushRoles, b.Role)
		if known && b.Condition == nil {
			return nil
		}
		if known || !strings.HasPrefix(b.Role, "roles/") {
			unknown = append(unknown, b.Role)
		}
	}
	if len(unknown) > 0 {
		return []Result{
			warn(fmt.Sprintf("%s may or may not send push messages: it has %s", sender, few(unknown)),
				"check that these roles always grant "+pushPermission)}
	}
	return []Result{no}
}
