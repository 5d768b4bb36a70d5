"""The relations of this server: the one list that decides what can be walked, and what a rejection offers instead."""

from collections.abc import Mapping

from service.graph.relations.connected import CONNECTED
from service.graph.relations.far import FAR
from service.graph.relations.member_of import MEMBER_OF
from service.graph.relations.next import NEXT
from service.graph.relations.participated_in import PARTICIPATED_IN
from service.graph.relations.protocol import Relation
from service.graph.relations.resolved_by import RESOLVED_BY
from service.graph.relations.same_as import SAME_AS
from service.graph.relations.shares import SHARES
from service.graph.relations.similar import SIMILAR

RELATIONS: Mapping[str, Relation] = {
    relation.name: relation for relation in (PARTICIPATED_IN, SHARES, SIMILAR, FAR, NEXT, MEMBER_OF, RESOLVED_BY, CONNECTED, SAME_AS)
}
