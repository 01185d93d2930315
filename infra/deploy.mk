# make lock writes infra/images.lock and infra/.terraform.lock.hcl, which a deployment needs.
# make deploy PROJECT=my-project REGION=europe-west1
# DEPLOY_ARGS are further arguments of terraform apply, such as -auto-approve.

.PHONY: lock deploy

lock:
	infra/lock

deploy: build
	@test -n "$(PROJECT)" -a -n "$(REGION)" || { \
		echo "PROJECT and REGION must be set: make deploy PROJECT=my-project REGION=europe-west1" >&2; exit 2; }
	infra/deploy $(PROJECT) $(REGION) $(DEPLOY_ARGS)
