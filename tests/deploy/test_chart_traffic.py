"""In: the chart. Out: who can reach which pod: service, ingress, disruption budget and network policies select what they mean."""

import pytest

from .conftest import Manifest, Render, Values

pytestmark = pytest.mark.deploy

TRAFFIC: Values = {"networkPolicy": {"enabled": True}, "ingress": {"enabled": True, "hosts": ["memory.example.com"]}}


def selected(manifests: list[Manifest], selector: dict[str, str]) -> set[str]:
    """The components whose pods carry all these labels."""
    templates = [manifest["spec"]["template"] for manifest in manifests if "template" in manifest.get("spec", {})]
    labels = [template["metadata"]["labels"] for template in templates]
    return {each["app.kubernetes.io/component"] for each in labels if selector.items() <= each.items()}


def kind(manifests: list[Manifest], wanted: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == wanted]


def test_deployments_select_their_own_pods(render: Render) -> None:
    manifests = render()
    for deployment in kind(manifests, "Deployment"):
        component = deployment["metadata"]["labels"]["app.kubernetes.io/component"]
        assert selected(manifests, deployment["spec"]["selector"]["matchLabels"]) == {component}


def test_selectors_do_not_change_with_the_version(render: Render) -> None:
    for deployment in kind(render(), "Deployment"):
        assert not [label for label in deployment["spec"]["selector"]["matchLabels"] if "version" in label or "chart" in label]


def test_service_leads_to_the_api_alone(render: Render) -> None:
    manifests = render()
    (service,) = kind(manifests, "Service")
    assert selected(manifests, service["spec"]["selector"]) == {"api"}
    assert service["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]


def test_ingress_leads_to_the_service(render: Render) -> None:
    manifests = render(TRAFFIC)
    (service,), (ingress,) = kind(manifests, "Service"), kind(manifests, "Ingress")
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "memory.example.com"
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}


def test_disruption_budget_counts_the_api_and_never_blocks_a_drain(render: Render) -> None:
    manifests = render()
    (budget,) = kind(manifests, "PodDisruptionBudget")
    assert selected(manifests, budget["spec"]["selector"]["matchLabels"]) == {"api"}
    assert budget["spec"]["maxUnavailable"] == 1


def test_nobody_reaches_the_worker_and_all_reach_the_api(render: Render) -> None:
    manifests = render(TRAFFIC)
    specs = [policy["spec"] for policy in kind(manifests, "NetworkPolicy")]
    assert [selected(manifests, spec["podSelector"]["matchLabels"]) for spec in specs] == [{"api"}, {"worker"}]
    api, worker = specs
    assert worker["policyTypes"] == ["Ingress"]
    assert worker["ingress"] == []
    assert api["ingress"] == [{"ports": [{"port": "http", "protocol": "TCP"}]}]


def test_policies_narrow_to_the_peers_that_are_named(render: Render) -> None:
    peers = [{"podSelector": {"matchLabels": {"app": "proxy"}}}]
    egress = [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]
    policies = kind(render({"networkPolicy": {"enabled": True, "ingressFrom": peers, "egress": egress}}), "NetworkPolicy")
    assert [policy["spec"]["egress"] for policy in policies] == [egress, egress]
    assert all(policy["spec"]["policyTypes"] == ["Ingress", "Egress"] for policy in policies)
    assert [policy["spec"]["ingress"][0]["from"] for policy in policies if policy["spec"]["ingress"]] == [peers]
