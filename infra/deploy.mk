# make deploy PROJECT=my-project REGION=europe-west1
# DEPLOY_ARGS are given to terraform apply, as -auto-approve.

.PHONY: deploy

deploy: build
	@test -n "$(PROJECT)" -a -n "$(REGION)" || { echo "say where: make deploy PROJECT=my-project REGION=europe-west1" >&2; exit 2; }
	infra/deploy $(PROJECT) $(REGION) $(DEPLOY_ARGS)
