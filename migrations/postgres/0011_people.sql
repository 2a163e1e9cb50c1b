-- People: whoever may be the same person is found by what they have in common, however a telephone number is spelled.

CREATE INDEX principals_by_key ON principals (tenant_id, translate(principal_id, '+ -()', ''));
CREATE INDEX principal_aliases_by_key ON principal_aliases (tenant_id, translate(value, '+ -()', ''));
CREATE INDEX principals_by_person_key ON principals (tenant_id, translate(person_id, '+ -()', ''))
    WHERE person_id IS NOT NULL;
