{{- /* Refuses values whose pods could together open more connections than Postgres leaves to them. */ -}}
{{- define "muniment.checkConnections" -}}
{{- $apiPods := int (ternary .Values.autoscaling.maxReplicas .Values.api.replicas .Values.autoscaling.enabled) -}}
{{- $api := mul (add $apiPods 1) (int .Values.api.poolMax) -}}
{{- $worker := mul (int .Values.worker.replicas) (int .Values.worker.poolMax) -}}
{{- $limit := int .Values.database.connectionLimit -}}
{{- if gt (int (add $api $worker)) $limit -}}
{{- fail (printf "the pods can open %d connections to Postgres, more than database.connectionLimit %d: (%d API pods + 1 while updating) x api.poolMax %d + %d workers x worker.poolMax %d" (int (add $api $worker)) $limit $apiPods (int .Values.api.poolMax) (int .Values.worker.replicas) (int .Values.worker.poolMax)) -}}
{{- end -}}
{{- end -}}

{{- /* Refuses a grace period that would end before SIGTERM is even sent. */ -}}
{{- define "muniment.checkGrace" -}}
{{- if le (int .Values.api.terminationGracePeriodSeconds) (int .Values.api.preStopSeconds) -}}
{{- fail (printf "api.terminationGracePeriodSeconds %d must be more than api.preStopSeconds %d" (int .Values.api.terminationGracePeriodSeconds) (int .Values.api.preStopSeconds)) -}}
{{- end -}}
{{- end -}}

{{- /* Refuses an API that is given the owner's Secret entry as its own. */ -}}
{{- define "muniment.checkOwner" -}}
{{- if and (eq .Values.secrets.databaseUrl.name .Values.secrets.ownerUrl.name) (eq .Values.secrets.databaseUrl.key .Values.secrets.ownerUrl.key) -}}
{{- fail "secrets.databaseUrl and secrets.ownerUrl are the same entry: the API must not log in as the owner" -}}
{{- end -}}
{{- end -}}
