"""In: the chart and sets of values. Out: manifests that Kubernetes takes, and that keep what the product promises."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from .conftest import Manifest, Render, Values, merged

pytestmark = pytest.mark.deploy

EVERYTHING: Values = {
    "image": {"tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": ["registry-login"]},
    "secrets": {"redisUrl": {"name": "muniment-redis", "key": "url"}},
    "database": {"connectionLimit": 400},
    "log": {"level": "debug"},
    "api": {
        "poolMax": 20,
        "allowedHosts": ["memory.example.com", "memory.internal"],
        "allowedOrigins": ["https://app.example.com"],
        "resources": {"requests": {"cpu": 1, "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
    },
    "worker": {"replicas": 3},
    "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 12},
    "service": {"type": "LoadBalancer", "port": 443, "annotations": {"example.com/internal": "true"}},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "10m"},
        "hosts": ["memory.example.com"],
        "tls": [{"secretName": "memory-tls", "hosts": ["memory.example.com"]}],
    },
    "networkPolicy": {
        "enabled": True,
        "ingressFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 5432, "protocol": "TCP"}]}],
    },
    "serviceAccount": {"name": "memory", "annotations": {"example.com/role": "memory"}},
    "podAnnotations": {"example.com/scrape": "true"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "memory", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
            }
        }
    },
}
VALUE_SETS: dict[str, Values] = {
    "needed": {},
    "everything": EVERYTHING,
    "no model": {"embedding": {"provider": "none"}},
    "smallest": {
        "api": {"replicas": 1, "podDisruptionBudget": {"enabled": False}},
        "worker": {"replicas": 0},
        "serviceAccount": {"create": False},
    },
    "open policy": {"networkPolicy": {"enabled": True}, "ingress": {"enabled": True, "hosts": ["memory.example.com"]}},
}
SECRET_VARIABLES = {"DATABASE_URL", "MUNIMENT_OWNER_URL", "MUNIMENT_KEY_PEPPER", "MUNIMENT_REDIS_URL"}

every_value_set = pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS.keys())


def named(manifests: list[Manifest], kind: str, suffix: str = "") -> Manifest:
    """The one manifest of this kind whose name ends so."""
    found = [manifest for manifest in manifests if manifest["kind"] == kind and manifest["metadata"]["name"].endswith(suffix)]
    assert len(found) == 1, (kind, suffix, [manifest["metadata"]["name"] for manifest in manifests])
    return found[0]


def workloads(manifests: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Each pod template with its component."""
    for manifest in manifests:
        if "template" in manifest.get("spec", {}):
            template = manifest["spec"]["template"]
            yield template["metadata"]["labels"]["app.kubernetes.io/component"], template


def pod_of(manifests: list[Manifest], component: str) -> Manifest:
    return dict(workloads(manifests))[component]["spec"]


def environment(pod: Manifest) -> dict[str, Any]:
    return {entry["name"]: entry for entry in pod["containers"][0]["env"]}


def selects(selector: dict[str, str], template: Manifest) -> bool:
    return selector.items() <= template["metadata"]["labels"].items()


@every_value_set
def test_manifests_are_valid(chart: helm_python.Chart, render: Render, values: Values) -> None:
    oldest = chart.metadata["kubeVersion"].removeprefix(">=").removesuffix(".0-0")
    manifests = render(values)
    assert {"Deployment", "Job", "Service"} <= {manifest["kind"] for manifest in manifests}
    for manifest in manifests:
        for version in (oldest, kubernetes_validate.latest_version()):
            kubernetes_validate.validate(manifest, version, strict=True)


@every_value_set
def test_lint_has_nothing_to_say(deploy_folder: Path, needed_values: Values, values: Values) -> None:
    report = helm_python.lint(deploy_folder / "chart", merged(needed_values, values), strict=True)
    assert report["total_charts_linted"] == 1
    assert report["errors"] == []
    assert [message for message in report["messages"] if message["severity"] >= 2] == []


def test_optional_objects_come_when_they_are_asked_for(render: Render) -> None:
    always = {"Deployment", "Job", "Service"}
    assert {manifest["kind"] for manifest in render(VALUE_SETS["smallest"])} == always
    assert {manifest["kind"] for manifest in render(EVERYTHING)} == always | {
        "ServiceAccount",
        "Ingress",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "NetworkPolicy",
    }


@pytest.mark.parametrize("name", ["demo", "muniment", "m" * 53])
def test_names_are_unique_and_short(render: Render, name: str) -> None:
    manifests = render(EVERYTHING, name)
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(names)) == len(names)
    assert max(len(text) for _, text in names) <= 63


@every_value_set
def test_owner_url_reaches_the_worker_and_the_migrations_alone(render: Render, values: Values) -> None:
    holders = set()
    for component, template in workloads(render(values)):
        if "MUNIMENT_OWNER_URL" in yaml.safe_dump(template) or "muniment-owner" in yaml.safe_dump(template):
            holders.add(component)
        assert "envFrom" not in template["spec"]["containers"][0]
    assert holders == {"worker", "migrate"}


@every_value_set
def test_secrets_stand_by_reference_only(render: Render, values: Values) -> None:
    manifests = render(values)
    assert "Secret" not in {manifest["kind"] for manifest in manifests}
    assert "://" not in yaml.safe_dump(manifests).replace("https://app.example.com", "")
    for component, template in workloads(manifests):
        found = {name: entry for name, entry in environment(template["spec"]).items() if name in SECRET_VARIABLES}
        assert {"DATABASE_URL", "MUNIMENT_KEY_PEPPER"} <= found.keys(), component
        for entry in found.values():
            assert set(entry) == {"name", "valueFrom"}
            assert set(entry["valueFrom"]) == {"secretKeyRef"}
            assert set(entry["valueFrom"]["secretKeyRef"]) == {"name", "key"}


def test_variables_carry_the_values(render: Render) -> None:
    manifests = render(EVERYTHING)
    api = environment(pod_of(manifests, "api"))
    assert api["MUNIMENT_ALLOWED_HOSTS"]["value"] == "memory.example.com,memory.internal"
    assert api["MUNIMENT_ALLOWED_ORIGINS"]["value"] == "https://app.example.com"
    assert api["MUNIMENT_POOL_MAX"]["value"] == "20"
    assert api["MUNIMENT_LOG_LEVEL"]["value"] == "debug"
    assert api["MUNIMENT_LOG_FORMAT"]["value"] == "json"
    assert api["MUNIMENT_REDIS_URL"]["valueFrom"]["secretKeyRef"] == {"name": "muniment-redis", "key": "url"}
    worker = environment(pod_of(manifests, "worker"))
    assert (worker["MUNIMENT_POOL_MAX"]["value"], worker["MUNIMENT_REDIS_URL"]) == ("5", api["MUNIMENT_REDIS_URL"])
    unset = environment(pod_of(render(), "api"))
    assert not {"MUNIMENT_REDIS_URL", "MUNIMENT_ALLOWED_HOSTS", "MUNIMENT_ALLOWED_ORIGINS"} & unset.keys()


@every_value_set
def test_containers_run_with_the_fewest_rights(render: Render, values: Values) -> None:
    for component, template in workloads(render(values)):
        pod = template["spec"]
        assert pod["automountServiceAccountToken"] is False, component
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert len(pod["containers"]) == 1
        container = pod["containers"][0]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]
        assert all("emptyDir" in volume for volume in pod["volumes"])


def test_commands(render: Render) -> None:
    commands = {component: template["spec"]["containers"][0]["args"] for component, template in workloads(render())}
    assert commands == {
        "api": ["serve", "--host", "0.0.0.0", "--port", "8000", "--no-worker"],  # noqa: S104
        "worker": ["worker"],
        "migrate": ["migrate"],
    }


def test_probes_ask_the_paths_of_the_api(render: Render) -> None:
    container = pod_of(render(), "api")["containers"][0]
    assert {probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert container["ports"] == [{"name": "http", "containerPort": 8000}]


def test_update_keeps_every_pod_until_its_successor_is_ready(render: Render) -> None:
    manifests = render({"api": {"preStopSeconds": 7}})
    spec = named(manifests, "Deployment", "-api")["spec"]
    pod = spec["template"]["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "7"]
    assert pod["terminationGracePeriodSeconds"] > 7
    worker = named(manifests, "Deployment", "-worker")["spec"]
    assert worker["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}


def test_autoscaling_owns_the_number_of_pods(render: Render) -> None:
    assert named(render(), "Deployment", "-api")["spec"]["replicas"] == 2
    manifests = render(EVERYTHING)
    deployment = named(manifests, "Deployment", "-api")
    scaler = named(manifests, "HorizontalPodAutoscaler")["spec"]
    assert "replicas" not in deployment["spec"]
    assert scaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (3, 12)


@pytest.mark.parametrize(("provider", "asked", "most"), [("local", "512Mi", "1Gi"), ("none", "256Mi", "512Mi")])
def test_memory_follows_the_model(render: Render, provider: str, asked: str, most: str) -> None:
    manifests = render({"embedding": {"provider": provider}})
    for component in ("api", "worker"):
        resources = pod_of(manifests, component)["containers"][0]["resources"]
        assert resources["requests"]["memory"] == asked
        assert resources["limits"]["memory"] == most


@every_value_set
def test_every_container_has_resources(render: Render, values: Values) -> None:
    for component, template in workloads(render(values)):
        resources = template["spec"]["containers"][0]["resources"]
        assert {"cpu", "memory"} <= resources["requests"].keys(), component
        assert "memory" in resources["limits"], component


def test_own_resources_replace_the_usual_ones(render: Render) -> None:
    assert pod_of(render(EVERYTHING), "api")["containers"][0]["resources"] == EVERYTHING["api"]["resources"]


def test_migrations_run_before_the_pods_and_need_nothing_of_the_release(render: Render) -> None:
    manifests = render()
    job = named(manifests, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "default"
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    others = [manifest for manifest in manifests if manifest is not job]
    assert not [manifest for manifest in others if "helm.sh/hook" in manifest["metadata"].get("annotations", {})]


@pytest.mark.parametrize(
    ("account", "pods", "job"),
    [
        ({"create": True}, "demo-muniment", "default"),
        ({"create": True, "name": "memory"}, "memory", "default"),
        ({"create": False}, "default", "default"),
        ({"create": False, "name": "memory"}, "memory", "memory"),
    ],
)
def test_service_accounts_exist_when_they_are_used(render: Render, account: Values, pods: str, job: str) -> None:
    manifests = render({"serviceAccount": account})
    assert pod_of(manifests, "api")["serviceAccountName"] == pods
    assert pod_of(manifests, "worker")["serviceAccountName"] == pods
    assert pod_of(manifests, "migrate")["serviceAccountName"] == job
    made = [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == "ServiceAccount"]
    assert made == ([pods] if account["create"] else [])
