-- name: current_space
-- The space whose vectors are searched.
SELECT s.id, s.provider, s.model, s.dim FROM m_0.space AS s WHERE s.current;
